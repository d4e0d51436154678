/* build.c - text to a directory of shards. The corpus is walked up to three times:
 *
 *     list    the inputs' files, sizes and dates: the recipe, and whether there is anything to do
 *     learn   only for "train:SIZE": every piece of text to the tokenizer's trainer
 *     encode  pieces -> batches of units, encoded by all threads -> train or val -> shards
 *
 * and the manifest is written last.
 */
#include "base/staging.h"
#include "base/text.h"
#include "data/shards/document_writer.h"
#include "data/shards/existing.h"
#include "data/text/corpus.h"
#include "data/tokenizer/bpe_train.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SMALLEST_PIECE = 1 << 10, LARGEST_PIECE = 1 << 16 };

/* What knows where text may be cut while it is encoded. */
typedef struct cutter {
  const mo_tokenizer *tokenizer;
  split_scratch *scratch; /* NULL when the tokenizer has no rule */
} cutter;

static size_t cut_text(void *user, const char *text, size_t length, size_t least, size_t most)
{
  const cutter *c = user;
  return tokenizer_cut(c->tokenizer, c->scratch, text, length, least, most);
}

static void report(const dataset_options *options, const char *stage, const mo_corpus *corpus)
{
  if (options->progress != NULL)
    options->progress(options->user, stage, corpus_consumed(corpus), corpus_bytes(corpus));
}

static size_t cut_training_text(void *user, const char *text, size_t length, size_t least,
                                size_t most)
{
  return bpe_trainer_cut(user, text, length, least, most);
}

static mousse_status train_on(bpe_trainer *trainer, const dataset_options *options,
                              const file_list *files, uint32_t vocabulary,
                              mo_tokenizer *tokenizer, mo_error *error)
{
  mo_corpus *text = NULL;
  corpus_piece piece;
  const corpus_options read = {.field = options->field,
                               .completion = options->completion,
                               .messages = options->messages,
                               .separator = options->separator,
                               .cut = cut_training_text,
                               .cut_user = trainer};
  MO_TRY(corpus_open_files(&text, files, &read, error));
  report(options, "reading", text);
  mousse_status status = corpus_next(text, &piece, error);
  while (status == MOUSSE_OK && piece.length > 0) {
    status = bpe_trainer_add(trainer, piece.text, piece.length, error);
    report(options, "reading", text);
    if (status == MOUSSE_OK) status = corpus_next(text, &piece, error);
  }
  corpus_close(text);
  if (status == MOUSSE_OK) status = bpe_trainer_finish(trainer, vocabulary, tokenizer, error);
  return status;
}

static mousse_status open_tokenizer(const char *path, mo_tokenizer *tokenizer, mo_error *error)
{
  if (strcmp(path, "bytes") != 0 && access(path, F_OK) != 0)
    return mo_fail(error, MOUSSE_IO,
                   "%s: there is no such tokenizer; expected a tokenizer directory or file, "
                   "bytes or train:SIZE",
                   path);
  return tokenizer_open(tokenizer, path, error);
}

static const char train[] = "train:"; /* and a size */

static bool is_learned(const dataset_options *options)
{
  return strncmp(options->tokenizer, train, strlen(train)) == 0;
}

/* To learn a tokenizer the text is read twice, and a pipe has it only once. */
static mousse_status check_files(const file_list *files, mo_error *error)
{
  for (uint32_t i = 0; i < files->paths.count; i++) {
    struct stat info;
    const char *path = file_list_get(files, i);
    if (stat(path, &info) != 0 || S_ISREG(info.st_mode)) continue; /* opening it says why */
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "%s: not a regular file, but --tokenizer train:SIZE reads the text twice; "
                   "write it to a file (.gz and .zst are read, too)",
                   path);
  }
  return MOUSSE_OK;
}

static mousse_status learn_tokenizer(const dataset_options *options, const file_list *files,
                                     mo_tokenizer *tokenizer, mo_error *error)
{
  int64_t size = 0;
  bpe_trainer *trainer = NULL;
  if (!mo_parse_integer(options->tokenizer + strlen(train), &size) ||
      size < BPE_SMALLEST_VOCABULARY || size > BPE_LARGEST_VOCABULARY)
    return mo_fail(error, MOUSSE_OUT_OF_RANGE,
                   "tokenizer '%s': expected train: and a vocabulary from %d to %d",
                   options->tokenizer, BPE_SMALLEST_VOCABULARY, BPE_LARGEST_VOCABULARY);
  MO_TRY(bpe_trainer_open(&trainer, error));
  const mousse_status status =
      train_on(trainer, options, files, (uint32_t)size, tokenizer, error);
  bpe_trainer_close(trainer);
  return status;
}

/* What is being written. */
typedef struct build {
  const dataset_options *options;
  const file_list *files; /* what the inputs stood for when it began */
  document_writer documents;
  uint64_t zeros; /* bytes of text that are 0 */
} build;

static mousse_status write_batch(build *b, batch_encoder *batch, mo_error *error)
{
  mo_error inner = {{0}};
  const mousse_status status = batch_encoder_encode(batch, &inner);
  if (status != MOUSSE_OK)
    return mo_fail(error, status, "tokenizer '%s': %s", b->options->tokenizer, inner.text);
  for (size_t i = 0; i < batch_encoder_count(batch); i++)
    MO_TRY(document_writer_add(&b->documents, batch_encoder_get(batch, i), error));
  batch_encoder_clear(batch);
  return MOUSSE_OK;
}

static void tell(const dataset_options *options, const char *text)
{
  if (options->notice != NULL) options->notice(options->user, text);
}

static void tell_notes(const dataset_options *options, corpus_notes n)
{
  char text[4096 + 256];
  if (n.marks > 0) {
    snprintf(text, sizeof text, "%llu %s with a byte order mark, which was dropped",
             (unsigned long long)n.marks, n.marks == 1 ? "file starts" : "files start");
    tell(options, text);
  }
  if (n.json_files > 0) {
    snprintf(
        text, sizeof text,
        "%s is read as plain text, with all that is JSON about it; objects with a field of "
        "text, one in each line, are called .jsonl (files of this kind: %llu)",
        n.json_path, (unsigned long long)n.json_files);
    tell(options, text);
  }
  if (n.utf16_files > 0) {
    snprintf(text, sizeof text,
             "%s looks like UTF-16, and its bytes are taken as they are; 'iconv -f UTF-16 -t "
             "UTF-8' converts it (files of this kind: %llu)",
             n.utf16_path, (unsigned long long)n.utf16_files);
    tell(options, text);
  }
  if (n.bad_files > 0) {
    snprintf(text, sizeof text,
             "%llu bytes are not UTF-8, the first at byte %llu of %s (files with such bytes: "
             "%llu); they are kept as they are",
             (unsigned long long)n.bad_bytes, (unsigned long long)n.bad_offset, n.bad_path,
             (unsigned long long)n.bad_files);
    tell(options, text);
  }
}

static uint64_t count_zeros(const char *text, size_t length)
{
  uint64_t count = 0;
  for (size_t i = 0; i < length; i++) count += text[i] == '\0';
  return count;
}

/* Raw bytes have no id to spare: 0 is the end of a text. */
static void tell_zeros(const build *b)
{
  char text[256];
  if (b->zeros == 0 ||
      b->documents.tokenizer->end_of_text != b->documents.tokenizer->byte_ids[0])
    return;
  snprintf(text, sizeof text,
           "%llu bytes of the text are 0, which raw bytes cannot tell from the end of a "
           "document; another tokenizer can",
           (unsigned long long)b->zeros);
  tell(b->options, text);
}

/* A split without tokens is of no use to anybody; why there is none follows from the sizes. */
static mousse_status check_splits(const build *b, mo_error *error)
{
  const document_writer *d = &b->documents;
  const char *input = b->options->inputs[0];
  const double fraction = b->options->val_fraction;
  if (d->text_bytes == 0)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: there is no text in the inputs", input);
  if (d->train.counts.tokens == 0)
    return mo_fail(
        error, MOUSSE_BAD_FORMAT,
        "%s: %llu bytes of text are too few to divide: with --val-fraction %g nothing "
        "is left for training; give more text or a smaller fraction",
        input, (unsigned long long)d->text_bytes, fraction);
  if (d->val.counts.tokens == 0 && fraction > 0)
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: no validation part: %g of %llu bytes of text is less than half of the "
                   "smallest piece; give more text, a larger --val-fraction, or 0 for none",
                   input, fraction, (unsigned long long)d->text_bytes);
  return MOUSSE_OK;
}

static mousse_status write_text(build *b, mo_corpus *text, batch_encoder *batch,
                                mo_error *error)
{
  corpus_piece piece;
  bool full = false;
  report(b->options, "tokenizing", text);
  MO_TRY(corpus_next(text, &piece, error));
  while (piece.length > 0) {
    const batch_text added = {piece.text, piece.length, piece.starts_document,
                              piece.is_completion, piece.role};
    b->zeros += count_zeros(piece.text, piece.length);
    MO_TRY(batch_encoder_add(batch, &added, &full, error));
    if (full) MO_TRY(write_batch(b, batch, error));
    if (full) report(b->options, "tokenizing", text);
    MO_TRY(corpus_next(text, &piece, error));
  }
  MO_TRY(write_batch(b, batch, error));
  report(b->options, "tokenizing", text);
  tell_notes(b->options, corpus_get_notes(text));
  tell_zeros(b);
  MO_TRY(check_splits(b, error));
  MO_TRY(split_writer_finish(&b->documents.train, error));
  return split_writer_finish(&b->documents.val, error);
}

static size_t piece_size(const dataset_options *options, uint64_t bytes)
{
  const double quarter = 0.25 * options->val_fraction * (double)bytes;
  if (options->val_fraction == 0 || quarter >= LARGEST_PIECE) return LARGEST_PIECE;
  return quarter <= SMALLEST_PIECE ? SMALLEST_PIECE : (size_t)quarter;
}

static mousse_status write_shards(build *b, mo_error *error)
{
  mo_corpus *text = NULL;
  batch_encoder *batch = NULL;
  const mo_tokenizer *tokenizer = b->documents.tokenizer;
  cutter cut = {.tokenizer = tokenizer};
  const corpus_options read = {.field = b->options->field,
                               .completion = b->options->completion,
                               .messages = b->options->messages,
                               .separator = b->options->separator,
                               .piece_bytes = piece_size(b->options, b->files->bytes),
                               .cut = cut_text,
                               .cut_user = &cut};
  mousse_status status = corpus_open_files(&text, b->files, &read, error);
  if (status == MOUSSE_OK && tokenizer->rule != NULL)
    status = split_scratch_open(&cut.scratch, tokenizer->rule, error);
  if (status == MOUSSE_OK)
    status =
        batch_encoder_open(&batch, tokenizer, b->options->chat, b->options->threads, error);
  if (status == MOUSSE_OK) status = write_text(b, text, batch, error);
  batch_encoder_close(batch);
  corpus_close(text);
  split_scratch_close(cut.scratch);
  split_writer_abandon(&b->documents.train);
  split_writer_abandon(&b->documents.val);
  return status;
}

static mousse_status fill_directory(build *b, const char *directory, json_t *recipe,
                                    mo_error *error)
{
  char path[4096];
  document_writer *d = &b->documents;
  const split_writer part = {.directory = directory,
                             .name = b->options->name,
                             .vocabulary = d->tokenizer->tokens.count,
                             .shard_tokens = b->options->shard_tokens,
                             .has_targets = b->options->completion != NULL ||
                                            b->options->messages != NULL};
  if (d->tokenizer->end_of_text == TOKENIZER_NONE)
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "tokenizer '%s' has no end-of-text token (%s) to mark documents with",
                   b->options->tokenizer, TOKENIZER_END_OF_TEXT);
  d->train = d->val = part;
  d->train.split = "train";
  d->val.split = "val";
  MO_TRY(write_shards(b, error));
  MO_TRY(mo_path_join(path, sizeof path, directory, "tokenizer.json", error));
  MO_TRY(tokenizer_save(d->tokenizer, path, error));
  mo_dataset made = {.vocabulary = d->tokenizer->tokens.count,
                     .end_of_text = d->tokenizer->end_of_text,
                     .text_bytes = d->text_bytes,
                     .train = d->train.counts,
                     .val = d->val.counts};
  snprintf(made.name, sizeof made.name, "%s", b->options->name);
  return dataset_write(&made, directory, recipe, error);
}

/* tokenizer: where it is learned, that happens here. */
static mousse_status build_new(const dataset_options *options, const file_list *files,
                               mo_tokenizer *tokenizer, json_t *recipe, mo_error *error)
{
  mo_staging place;
  build b = {.options = options,
             .files = files,
             .documents = {.tokenizer = tokenizer, .val_fraction = options->val_fraction}};
  mousse_status status = MOUSSE_OK;
  MO_TRY(mo_staging_open(&place, options->out, existing_is_ours, error));
  if (is_learned(options)) status = learn_tokenizer(options, files, tokenizer, error);
  if (status == MOUSSE_OK) status = fill_directory(&b, place.partial, recipe, error);
  if (status != MOUSSE_OK) {
    mo_staging_abandon(&place);
    return status;
  }
  return mo_staging_commit(&place, error);
}

static mousse_status build_once(const dataset_options *options, const file_list *files,
                                mo_tokenizer *tokenizer, mo_dataset *dataset, bool *existed,
                                mo_error *error)
{
  json_t *recipe = NULL;
  const bool learned = is_learned(options);
  if (learned) MO_TRY(check_files(files, error));
  MO_TRY(recipe_make(&recipe, options, files, learned ? NULL : tokenizer, error));
  mousse_status status = existing_check(options->out, recipe, dataset, existed, error);
  if (status == MOUSSE_OK && !*existed) {
    status = build_new(options, files, tokenizer, recipe, error);
    if (status == MOUSSE_OK) status = dataset_open(dataset, options->out, error);
  }
  json_decref(recipe);
  return status;
}

/* The files are listed once, before there is any of ours, and without those that an earlier call
 * left: the output may lie in a directory that is read. */
static mousse_status list_files(const dataset_options *options, file_list *files,
                                mo_error *error)
{
  mo_staging place;
  MO_TRY(file_list_leave_out(files, options->out, error));
  if (mo_staging_name(&place, options->out, NULL) == MOUSSE_OK)
    MO_TRY(file_list_leave_out(files, place.partial, error));
  for (size_t i = 0; i < options->input_count; i++)
    MO_TRY(file_list_add(files, options->inputs[i], error));
  if (files->paths.count > 0) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                 "%s: there is no file in it (those of --out %s are never inputs)",
                 options->input_count > 0 ? options->inputs[0] : "(no input)", options->out);
}

mousse_status dataset_build(const dataset_options *options, mo_dataset *dataset, bool *existed,
                            mo_error *error)
{
  mo_tokenizer tokenizer = {0};
  file_list files = {0};
  if (!is_learned(options)) MO_TRY(open_tokenizer(options->tokenizer, &tokenizer, error));
  mousse_status status = list_files(options, &files, error);
  if (status == MOUSSE_OK)
    status = build_once(options, &files, &tokenizer, dataset, existed, error);
  file_list_close(&files);
  tokenizer_close(&tokenizer);
  return status;
}
