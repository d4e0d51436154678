/* cmd_data.c - mousse data: what a directory of token shards holds, checked token by token. */
#include "base/file.h"
#include "base/wording.h"
#include "cli/next_step.h"
#include "cli/terminal.h"
#include "data/shards/dataset.h"
#include "data/shards/decode.h"
#include "data/shards/describe.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { SHOWN_UNUSED = 8, MOST_IDS = 1 << 20 };

typedef struct data_values {
  char tokenizer[MO_SETTING_PATH];
  int64_t vocabulary, excerpt;
  bool json;
} data_values;

static const mo_setting rows[] = {
    MO_SETTING_TEXT(data_values, tokenizer, "",
                    "tokenizer of the shards; by default the one there"),
    MO_SETTING_INTEGER(data_values, vocabulary, "0", 0, 2147483647,
                       "number of token ids; 0: the tokenizer's"),
    MO_SETTING_INTEGER(data_values, excerpt, "80", 0, 1e6, "tokens to show as text; 0: none"),
    MO_SETTING_SWITCH(data_values, json, "false", "print one JSON object"),
};

typedef struct part {
  const char *name;
  bool exists;
  shard_description what;
} part;

enum { TRAIN, VAL, NAMED, PARTS };

/* All that is found out. */
typedef struct findings {
  const char *directory;
  mo_tokenizer tokenizer; /* no tokens: there is none */
  uint32_t vocabulary;    /* 0: not known */
  uint32_t end_of_text;
  bool knows_documents; /* the end-of-text token is known */
  part parts[PARTS];    /* train, val; or the shards that were named themselves */
  bool *seen;           /* MOST_IDS */
  mo_buffer excerpt;
} findings;

static mousse_status find_vocabulary(findings *f, const data_values *v, mo_error *error)
{
  mo_dataset made;
  struct stat info;
  char folder[MO_SETTING_PATH]; /* of the shards, when these are named themselves */
  snprintf(folder, sizeof folder, "%s", f->directory);
  if (stat(folder, &info) != 0 || !S_ISDIR(info.st_mode))
    MO_TRY(mo_path_parent(folder, sizeof folder, f->directory, error));
  MO_TRY(dataset_open(&made, folder, error));
  if (v->tokenizer[0] != '\0')
    MO_TRY(tokenizer_open(&f->tokenizer, v->tokenizer, error));
  else if (tokenizer_exists(folder))
    MO_TRY(tokenizer_open(&f->tokenizer, folder, error));
  f->vocabulary = made.vocabulary;
  f->end_of_text = made.vocabulary > 0 ? made.end_of_text : TOKENIZER_NONE;
  if (f->tokenizer.tokens.count > 0) {
    f->vocabulary = f->tokenizer.tokens.count;
    f->end_of_text = f->tokenizer.end_of_text;
  }
  f->knows_documents = f->end_of_text != TOKENIZER_NONE;
  if (v->vocabulary > 0) f->vocabulary = (uint32_t)v->vocabulary;
  return MOUSSE_OK;
}

static mousse_status take_excerpt(findings *f, const shard_set *set, int64_t tokens,
                                  mo_error *error)
{
  const mo_shard *first = &set->shards[0];
  const size_t count = first->count < (size_t)tokens ? first->count : (size_t)tokens;
  if (f->tokenizer.tokens.count == 0 || f->excerpt.size > 0 || count == 0) return MOUSSE_OK;
  uint32_t *ids = mo_allocate(NULL, count * sizeof *ids);
  if (ids == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for an excerpt");
  mousse_status status = shard_read(first, 0, count, ids, error);
  if (status == MOUSSE_OK) status = decode_ids(&f->tokenizer, ids, count, &f->excerpt, error);
  mo_release(NULL, ids, count * sizeof *ids);
  return status;
}

static mousse_status look_at(findings *f, const data_values *v, int number, const char *name,
                             mo_error *error)
{
  shard_set set;
  part *p = &f->parts[number];
  p->name = name;
  p->exists = shard_set_exists(f->directory, name);
  if (!p->exists) return MOUSSE_OK;
  MO_TRY(shard_set_open(&set, f->directory, name, f->vocabulary, error));
  mousse_status status =
      shard_set_describe(&set, f->end_of_text, f->seen, MOST_IDS, &p->what, error);
  if (status == MOUSSE_OK) status = take_excerpt(f, &set, v->excerpt, error);
  shard_set_close(&set);
  return status;
}

static void print_part(const findings *f, const part *p)
{
  if (!p->exists) {
    printf("%-12snone\n", p->name);
    return;
  }
  printf("%-12s%s, %s, %s, largest id %s\n", p->name, MO_COUNT(p->what.tokens, "token"),
         f->knows_documents ? MO_COUNT(p->what.documents, "document") : "documents not known",
         MO_COUNT(p->what.shards, "shard"), MO_NUMBER(p->what.largest));
}

static uint32_t count_unused(const findings *f)
{
  uint32_t unused = 0;
  for (uint32_t id = 0; id < f->vocabulary && id < MOST_IDS; id++) unused += !f->seen[id];
  return unused;
}

static void print_unused(const findings *f)
{
  const uint32_t unused = count_unused(f);
  printf("%-12s%s of %s", "unused", MO_NUMBER(unused), MO_COUNT(f->vocabulary, "id"));
  for (uint32_t id = 0, shown = 0; id < f->vocabulary && shown < SHOWN_UNUSED; id++)
    if (id < MOST_IDS && !f->seen[id]) printf("%s%u", shown++ == 0 ? ": " : ", ", id);
  printf("%s\n", unused > SHOWN_UNUSED ? ", ..." : "");
}

static void print_excerpt(const mo_buffer *text)
{
  putchar('\n');
  terminal_print(stdout, text->data, text->size);
  putchar('\n');
}

static void print_findings(const findings *f)
{
  for (int i = 0; i < PARTS; i++)
    if (f->parts[i].name != NULL) print_part(f, &f->parts[i]);
  if (f->vocabulary > 0) {
    printf("%-12s%s, end of text is %s\n", "vocabulary", MO_NUMBER(f->vocabulary),
           f->knows_documents ? MO_NUMBER(f->end_of_text) : "not known");
    print_unused(f);
  } else {
    printf("%-12sunknown: no tokenizer here; give --tokenizer or --vocabulary\n", "vocabulary");
  }
  if (f->excerpt.size > 0) print_excerpt(&f->excerpt);
}

static json_t *part_json(const findings *f, const part *p)
{
  if (!p->exists) return json_null();
  json_t *documents =
      f->knows_documents ? json_integer((json_int_t)p->what.documents) : json_null();
  return json_pack("{s:I, s:o, s:I, s:I}", "tokens", (json_int_t)p->what.tokens, "documents",
                   documents, "shards", (json_int_t)p->what.shards, "largest_id",
                   (json_int_t)p->what.largest);
}

/* null for what is not UTF-8, as names of directories need not be. */
static json_t *text_json(const char *text, size_t size)
{
  json_t *value = json_stringn(text, size);
  return value != NULL ? value : json_null();
}

static void print_json(const findings *f)
{
  json_t *end = f->knows_documents ? json_integer((json_int_t)f->end_of_text) : json_null();
  json_t *root = json_pack("{s:o, s:o, s:o, s:I, s:o, s:I, s:o}", "directory",
                           text_json(f->directory, strlen(f->directory)), "train",
                           part_json(f, &f->parts[TRAIN]), "val", part_json(f, &f->parts[VAL]),
                           "vocabulary", (json_int_t)f->vocabulary, "end_of_text", end,
                           "unused_ids", (json_int_t)count_unused(f), "excerpt",
                           text_json(f->excerpt.data, f->excerpt.size));
  if (f->parts[NAMED].exists)
    json_object_set_new(root, "shards", part_json(f, &f->parts[NAMED]));
  json_dumpf(root, stdout, JSON_INDENT(2));
  printf("\n");
  json_decref(root);
}

/* A directory has splits; a file or a pattern is just some shards. */
static mousse_status look(findings *f, const data_values *v, mo_error *error)
{
  struct stat info;
  f->seen = mo_allocate(NULL, MOST_IDS * sizeof *f->seen);
  if (f->seen == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory to note ids");
  MO_TRY(find_vocabulary(f, v, error));
  if (stat(f->directory, &info) != 0 && strpbrk(f->directory, "*?[") == NULL)
    return mo_fail(error, MOUSSE_IO, "%s: %s", f->directory, strerror(errno));
  const bool is_directory = stat(f->directory, &info) == 0 && S_ISDIR(info.st_mode);
  if (!is_directory) {
    MO_TRY(look_at(f, v, NAMED, "shards", error));
    if (f->parts[NAMED].exists) return MOUSSE_OK;
    return mo_fail(error, MOUSSE_IO, "%s: there is no token shard of this name", f->directory);
  }
  MO_TRY(look_at(f, v, TRAIN, "train", error));
  MO_TRY(look_at(f, v, VAL, "val", error));
  if (f->parts[TRAIN].exists || f->parts[VAL].exists) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_IO, "%s: no *_train_*.bin and no *_val_*.bin in it",
                 f->directory);
}

static void suggest(const cli_invocation *call, const findings *f)
{
  if (f->parts[TRAIN].exists)
    next_step(call, "train --data-dir %s --shuffle", f->directory);
  else if (f->parts[VAL].exists)
    next_step(call, "eval --init RUN --data-dir %s", f->directory);
  else
    next_step(call, "text %s", f->directory);
}

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  const data_values *v = call->values;
  findings f = {.directory = call->arguments[0]};
  const mousse_status status = look(&f, v, error);
  if (status == MOUSSE_OK && v->json)
    print_json(&f);
  else if (status == MOUSSE_OK)
    print_findings(&f);
  if (status == MOUSSE_OK && !v->json) suggest(call, &f);
  mo_release(NULL, f.seen, MOST_IDS * sizeof *f.seen);
  mo_buffer_close(&f.excerpt);
  tokenizer_close(&f.tokenizer);
  return status;
}

const cli_command command_data = {
    .name = "data",
    .summary = "Check a directory of token shards and describe it",
    .arguments = "DIRECTORY",
    .details = "  mousse data data/book\n",
    .settings = MO_SETTINGS(rows),
    .values_bytes = sizeof(data_values),
    .least_arguments = 1,
    .most_arguments = 1,
    .run = run,
};
