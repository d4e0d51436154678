/* corpus.c - documents of several inputs, in pieces of bounded size. */
#include "data/text/corpus.h"

#include <string.h>

enum { DEFAULT_PIECE = 1 << 16, AHEAD = 1 << 10 };

struct mo_corpus {
  corpus_options options;
  const file_list *files;
  file_list own_files; /* unless they were given */
  uint32_t next_file;
  mo_source *source; /* NULL between files */
  uint64_t consumed; /* of the files that are done */
  corpus_notes notes;
  mo_buffer text; /* of the document, not yet handed out from start on */
  size_t start;
  bool document_ended;  /* all of the document is in text */
  bool starts_document; /* the next piece is its first */
  size_t prompt;        /* with completions: what of the prompt is not yet handed out */
  size_t message;       /* with messages: the next one of the source's list */
};

/* A field that no input can have is a mistake, as where JSON lines are called .json. */
static mousse_status check_field(const file_list *files, const char *field, mo_error *error)
{
  if (field == NULL || strcmp(field, "text") == 0) return MOUSSE_OK;
  for (uint32_t i = 0; i < files->paths.count; i++)
    if (source_is_json_lines(file_list_get(files, i))) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                 "%s: --field is given, and no input is JSON lines; files of them are called "
                 ".jsonl or .ndjson",
                 file_list_get(files, 0));
}

mousse_status corpus_open_files(mo_corpus **opened, const file_list *files,
                                const corpus_options *options, mo_error *error)
{
  if (options->completion == NULL && options->messages == NULL)
    MO_TRY(check_field(files, options->field, error));
  mo_corpus *c = mo_allocate(NULL, sizeof *c);
  if (c == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for a corpus");
  c->options = *options;
  c->files = files;
  c->starts_document = true;
  if (c->options.piece_bytes == 0) c->options.piece_bytes = DEFAULT_PIECE;
  *opened = c;
  return MOUSSE_OK;
}

mousse_status corpus_open(mo_corpus **opened, const char *const *inputs, size_t count,
                          const corpus_options *options, mo_error *error)
{
  file_list files = {0};
  mousse_status status = MOUSSE_OK;
  for (size_t i = 0; i < count && status == MOUSSE_OK; i++)
    status = file_list_add(&files, inputs[i], error);
  if (status == MOUSSE_OK && files.paths.count == 0)
    status = mo_fail(error, MOUSSE_INVALID_ARGUMENT, "%s: there is no file in it",
                     count > 0 ? inputs[0] : "(no input)");
  if (status == MOUSSE_OK) status = corpus_open_files(opened, &files, options, error);
  if (status != MOUSSE_OK) {
    file_list_close(&files);
    return status;
  }
  (*opened)->own_files = files;
  (*opened)->files = &(*opened)->own_files;
  return MOUSSE_OK;
}

void corpus_close(mo_corpus *c)
{
  if (c == NULL) return;
  source_close(c->source);
  file_list_close(&c->own_files);
  mo_buffer_close(&c->text);
  mo_release(NULL, c, sizeof *c);
}

uint64_t corpus_bytes(const mo_corpus *c)
{
  return c->files->bytes;
}

uint64_t corpus_consumed(const mo_corpus *c)
{
  return c->consumed + (c->source != NULL ? source_consumed(c->source) : 0);
}

corpus_notes corpus_get_notes(const mo_corpus *c)
{
  return c->notes;
}

/* More of the document into text; opens the next file when one has ended. */
static mousse_status fetch(mo_corpus *c, mo_error *error)
{
  bool file_ended = false;
  if (c->source == NULL)
    MO_TRY(
        source_open(&c->source, file_list_get(c->files, c->next_file++), &c->options, error));
  MO_TRY(source_more(c->source, &c->text, &c->document_ended, &file_ended, error));
  c->prompt = source_prompt(c->source);
  c->message = 0;
  if (!file_ended) return MOUSSE_OK;
  source_note(c->source, file_list_get(c->files, c->next_file - 1), &c->notes);
  c->consumed += source_consumed(c->source);
  source_close(c->source);
  c->source = NULL;
  return MOUSSE_OK;
}

/* How much of the text at hand can be given out now; 0: more is needed. What is known behind
 * the piece does not depend on the sizes in which the text came in. */
static size_t ready(const mo_corpus *c)
{
  if (c->options.messages != NULL) {
    const message_list *list = c->source != NULL ? source_messages(c->source) : NULL;
    return list != NULL && c->message < list->count ? list->marks[c->message].length : 0;
  }
  if (c->options.completion != NULL) return c->prompt > 0 ? c->prompt : c->text.size - c->start;
  const size_t length = c->text.size - c->start, piece = c->options.piece_bytes;
  if (length < piece + AHEAD && !c->document_ended) return 0;
  if (length <= piece) return length;
  const size_t known = length < piece + AHEAD ? length : piece + AHEAD;
  if (c->options.cut == NULL) return piece;
  return c->options.cut(c->options.cut_user, c->text.data + c->start, known, piece / 2 + 1,
                        piece - 1);
}

/* Drops what was handed out, now and then, so that moving stays cheap. */
static void drop_used(mo_corpus *c)
{
  if (c->start < c->text.size / 2 && c->start < c->text.size) return;
  memmove(c->text.data, c->text.data + c->start, c->text.size - c->start);
  c->text.size -= c->start;
  c->start = 0;
}

mousse_status corpus_next(mo_corpus *c, corpus_piece *piece, mo_error *error)
{
  *piece = (corpus_piece){0};
  for (;;) {
    const size_t length = ready(c);
    if (length > 0) {
      *piece = (corpus_piece){.text = c->text.data + c->start,
                              .length = length,
                              .starts_document = c->starts_document,
                              .is_completion = c->options.completion != NULL && c->prompt == 0};
      if (c->options.messages != NULL)
        piece->role = source_messages(c->source)->marks[c->message++].role;
      c->prompt = 0;
      c->start += length;
      c->starts_document = false;
      return MOUSSE_OK;
    }
    if (c->document_ended) { /* handed out, or empty: on to the next one */
      c->document_ended = false;
      c->starts_document = true;
    }
    if (c->source == NULL && c->next_file == c->files->paths.count) return MOUSSE_OK;
    if (c->start > 0) drop_used(c);
    MO_TRY(fetch(c, error));
  }
}
