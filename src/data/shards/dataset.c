/* dataset.c - reading the manifest of a directory of shards. */
#include "data/shards/dataset.h"

#include "base/json_text.h"
#include "data/tokenizer/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST_MANIFEST = 1 << 26, MOST_VALUES = 1 << 21 };

static mousse_status take_count(const json_t *object, const char *path, const char *key,
                                uint64_t most, uint64_t *value, mo_error *error)
{
  const json_t *number = json_object_get(object, key);
  const json_int_t read = json_integer_value(number);
  if (!json_is_integer(number) || read < 0 || (uint64_t)read > most)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: '%s' is not a whole number from 0 to %llu",
                   path, key, (unsigned long long)most);
  *value = (uint64_t)read;
  return MOUSSE_OK;
}

static mousse_status take_part(const json_t *root, const char *path, const char *key,
                               dataset_split *part, mo_error *error)
{
  const json_t *object = json_object_get(root, key);
  if (!json_is_object(object))
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: '%s' is missing", path, key);
  MO_TRY(take_count(object, path, "tokens", INT64_MAX, &part->tokens, error));
  MO_TRY(take_count(object, path, "documents", INT64_MAX, &part->documents, error));
  return take_count(object, path, "shards", INT64_MAX, &part->shards, error);
}

/* Whatever else a recipe says is for people, and for a second call of tokenize. */
static void read_recipe(mo_dataset *dataset, const json_t *recipe)
{
  const char *text = json_string_value(json_object_get(recipe, "tokenizer_xxh3"));
  const json_int_t found = json_integer_value(json_object_get(recipe, "found_tokens"));
  char *end = NULL;
  dataset->found_tokens = found > 0 ? (uint64_t)found : 0;
  if (text == NULL || strlen(text) != 16) return;
  dataset->tokenizer_checksum = strtoull(text, &end, 16);
  dataset->has_checksum = end == text + 16;
}

bool dataset_is_of_another(const mo_dataset *dataset, const mo_tokenizer *tokenizer)
{
  const uint64_t found = tokenizer->found.count + tokenizer->found_late.count;
  if (!dataset->has_manifest) return false; /* nobody knows */
  return dataset->found_tokens != found ||
         (dataset->has_checksum &&
          dataset->tokenizer_checksum != tokenizer_checksum(tokenizer));
}

static mousse_status read_manifest(mo_dataset *dataset, const char *path, const json_t *root,
                                   mo_error *error)
{
  uint64_t vocabulary = 0, end_of_text = 0, version = 0;
  const char *format = json_string_value(json_object_get(root, "format"));
  const char *name = json_string_value(json_object_get(root, "name"));
  if (format == NULL || strcmp(format, "mousse-dataset") != 0)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: 'format' is not mousse-dataset", path);
  MO_TRY(take_count(root, path, "version", INT32_MAX, &version, error));
  if (version != 1)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: version %llu, expected 1", path,
                   (unsigned long long)version);
  MO_TRY(take_count(root, path, "vocabulary", INT32_MAX, &vocabulary, error));
  MO_TRY(take_count(root, path, "end_of_text", INT32_MAX, &end_of_text, error));
  MO_TRY(take_count(root, path, "text_bytes", INT64_MAX, &dataset->text_bytes, error));
  MO_TRY(take_part(root, path, "train", &dataset->train, error));
  MO_TRY(take_part(root, path, "val", &dataset->val, error));
  if (vocabulary == 0 || end_of_text >= vocabulary)
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: end_of_text %llu is not in a vocabulary of %llu", path,
                   (unsigned long long)end_of_text, (unsigned long long)vocabulary);
  dataset->vocabulary = (uint32_t)vocabulary;
  dataset->end_of_text = (uint32_t)end_of_text;
  dataset->has_manifest = true;
  read_recipe(dataset, json_object_get(root, "recipe"));
  snprintf(dataset->name, sizeof dataset->name, "%s", name != NULL ? name : "");
  return MOUSSE_OK;
}

mousse_status dataset_parse(mo_dataset *dataset, const char *path, const char *data,
                            size_t size, mo_error *error)
{
  json_t *root = NULL;
  *dataset = (struct mo_dataset){0};
  MO_TRY(mo_json_parse(&root, path, data, size, MOST_VALUES, JSON_REJECT_DUPLICATES, error));
  const mousse_status status = read_manifest(dataset, path, root, error);
  json_decref(root);
  return status;
}

static json_t *part_json(const dataset_split *part)
{
  return json_pack("{s:I, s:I, s:I}", "tokens", (json_int_t)part->tokens, "documents",
                   (json_int_t)part->documents, "shards", (json_int_t)part->shards);
}

mousse_status dataset_write(const mo_dataset *dataset, const char *directory, json_t *recipe,
                            mo_error *error)
{
  char path[4096];
  json_free_t release = NULL;
  MO_TRY(mo_path_join(path, sizeof path, directory, DATASET_MANIFEST, error));
  json_t *root = json_pack(
      "{s:s, s:i, s:s, s:I, s:I, s:I, s:o, s:o, s:O}", "format", "mousse-dataset", "version", 1,
      "name", dataset->name, "vocabulary", (json_int_t)dataset->vocabulary, "end_of_text",
      (json_int_t)dataset->end_of_text, "text_bytes", (json_int_t)dataset->text_bytes, "train",
      part_json(&dataset->train), "val", part_json(&dataset->val), "recipe", recipe);
  char *text = json_dumps(root, JSON_INDENT(2));
  json_decref(root);
  if (text == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory", path);
  const mousse_status status = mo_file_write(path, text, strlen(text), error);
  json_get_alloc_funcs(NULL, &release);
  release(text);
  return status;
}

static mousse_status ask_tokenizer(mo_dataset *dataset, const char *directory, mo_error *error)
{
  mo_tokenizer tokenizer;
  if (!tokenizer_exists(directory)) return MOUSSE_OK;
  MO_TRY(tokenizer_open(&tokenizer, directory, error));
  dataset->vocabulary = tokenizer.tokens.count;
  dataset->end_of_text = tokenizer.end_of_text;
  tokenizer_close(&tokenizer);
  return MOUSSE_OK;
}

mousse_status dataset_open(mo_dataset *dataset, const char *directory, mo_error *error)
{
  char path[4096];
  char *data = NULL;
  size_t size = 0;
  *dataset = (struct mo_dataset){0};
  MO_TRY(mo_path_join(path, sizeof path, directory, DATASET_MANIFEST, error));
  if (access(path, F_OK) != 0) return ask_tokenizer(dataset, directory, error);
  MO_TRY(mo_file_read(NULL, path, LARGEST_MANIFEST, &data, &size, error));
  const mousse_status status = dataset_parse(dataset, path, data, size, error);
  mo_release(NULL, data, size + 1);
  return status;
}
