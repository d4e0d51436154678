/* recipe.c - what a data set is made from, as JSON. */
#include "data/shards/recipe.h"

#include "base/utf8.h"

#include <string.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* A manifest with these inputs stays below what dataset.c reads, even if every byte of a name
 * has to be escaped. */
enum { MOST_INPUTS = 100000, MOST_NAME_BYTES = 1 << 23, NANOSECONDS = 1000000000 };

static json_t *hash_json(uint64_t hash)
{
  return json_sprintf("%016llx", (unsigned long long)hash);
}

static json_t *input_json(const char *path, const struct stat *info)
{
  /* Without a sign: from the year 2262 on it is another number, but still one of its own. */
  const uint64_t modified =
      (uint64_t)info->st_mtim.tv_sec * NANOSECONDS + (uint64_t)info->st_mtim.tv_nsec;
  return json_pack("{s:s, s:I, s:I}", "path", path, "bytes", (json_int_t)info->st_size,
                   "modified_ns", (json_int_t)modified);
}

/* A file that cannot be looked at has an impossible size; whoever opens it says why. */
static struct stat look_at(const char *path)
{
  struct stat info = {0};
  if (stat(path, &info) != 0) info.st_size = -1;
  return info;
}

static json_t *list_json(const file_list *files)
{
  json_t *list = json_array();
  for (uint32_t i = 0; i < files->paths.count; i++) {
    const char *path = file_list_get(files, i);
    const struct stat info = look_at(path);
    if (json_array_append_new(list, input_json(path, &info)) == 0) continue;
    json_decref(list);
    return NULL;
  }
  return list;
}

static json_t *summary_json(const file_list *files)
{
  uint64_t hash = 0;
  for (uint32_t i = 0; i < files->paths.count; i++) {
    const char *path = file_list_get(files, i);
    const struct stat info = look_at(path);
    const int64_t facts[] = {info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
    hash = XXH3_64bits_withSeed(path, strlen(path), hash);
    hash = XXH3_64bits_withSeed(facts, sizeof facts, hash);
  }
  return json_pack("{s:I, s:I, s:o}", "count", (json_int_t)files->paths.count, "bytes",
                   (json_int_t)files->bytes, "xxh3", hash_json(hash));
}

static json_t *inputs_json(const file_list *files)
{
  size_t bytes = 0;
  for (uint32_t i = 0; i < files->paths.count; i++) bytes += strlen(file_list_get(files, i));
  const bool many = files->paths.count > MOST_INPUTS || bytes > MOST_NAME_BYTES;
  return many ? summary_json(files) : list_json(files);
}

static mousse_status check_names(const file_list *files, mo_error *error)
{
  for (uint32_t i = 0; i < files->paths.count; i++) {
    const char *path = file_list_get(files, i);
    if (mo_utf8_prefix(path, strlen(path)) == strlen(path)) continue;
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "%s: its name is not UTF-8, which the manifest needs to record it; rename "
                   "the file",
                   path);
  }
  return MOUSSE_OK;
}

/* Only where there are any: recipes without the key are older than the search for such tokens. */
static bool add_found_tokens(json_t *recipe, const mo_tokenizer *t)
{
  const size_t count = t->found.count + t->found_late.count;
  return count == 0 ||
         json_object_set_new(recipe, "found_tokens", json_integer((json_int_t)count)) == 0;
}

static bool add_tokenizer(json_t *recipe, const mo_tokenizer *t)
{
  return json_object_set_new(recipe, "tokenizer_xxh3", hash_json(tokenizer_checksum(t))) == 0 &&
         add_found_tokens(recipe, t);
}

/* Where the value is given; false when it is not UTF-8. */
static bool add_text(json_t *recipe, const char *key, const char *text)
{
  return text == NULL || json_object_set_new(recipe, key, json_string(text)) == 0;
}

mousse_status recipe_make(json_t **recipe, const dataset_options *options,
                          const file_list *files, const mo_tokenizer *tokenizer,
                          mo_error *error)
{
  const char *chat = options->messages != NULL ? chat_form_names[options->chat] : NULL;
  MO_TRY(check_names(files, error));
  json_t *inputs = inputs_json(files);
  json_t *made = json_pack("{s:f, s:I}", "val_fraction", options->val_fraction, "shard_tokens",
                           (json_int_t)options->shard_tokens);
  if (add_text(made, "name", options->name) &&
      add_text(made, "tokenizer", options->tokenizer) &&
      add_text(made, "field", options->field) &&
      add_text(made, "separator", options->separator) &&
      add_text(made, "completion", options->completion) &&
      add_text(made, "messages", options->messages) && add_text(made, "chat_template", chat) &&
      (tokenizer == NULL || add_tokenizer(made, tokenizer)) &&
      json_object_set(made, "inputs", inputs) == 0) {
    json_decref(inputs);
    *recipe = made;
    return MOUSSE_OK;
  }
  json_decref(inputs);
  json_decref(made);
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                 "--out %s: the values of options must be UTF-8, as the manifest records them",
                 options->out);
}

static bool is_same_input(const json_t *written, const json_t *input)
{
  const json_t *modified = json_object_get(input, "modified_ns");
  const json_t *seconds = json_object_get(written, "modified");
  const bool same_time =
      seconds != NULL
          ? json_integer_value(seconds) == json_integer_value(modified) / NANOSECONDS
          : json_equal(json_object_get(written, "modified_ns"), modified);
  return same_time &&
         json_equal(json_object_get(written, "path"), json_object_get(input, "path")) &&
         json_equal(json_object_get(written, "bytes"), json_object_get(input, "bytes"));
}

static bool are_same_inputs(const json_t *written, const json_t *inputs)
{
  if (!json_is_array(written) || !json_is_array(inputs)) return json_equal(written, inputs);
  bool same = json_array_size(written) == json_array_size(inputs);
  for (size_t i = 0; same && i < json_array_size(inputs); i++)
    same = is_same_input(json_array_get(written, i), json_array_get(inputs, i));
  return same;
}

bool recipe_is_same(const json_t *written, json_t *recipe)
{
  json_t *theirs = json_object_get(written, "inputs");
  if (!are_same_inputs(theirs, json_object_get(recipe, "inputs"))) return false;
  json_t *rest = json_copy(recipe);
  if (json_object_get(written, "tokenizer_xxh3") == NULL)
    json_object_del(rest, "tokenizer_xxh3");
  json_object_set(rest, "inputs", theirs); /* compared above */
  const bool same = json_equal(written, rest);
  json_decref(rest);
  return same;
}
