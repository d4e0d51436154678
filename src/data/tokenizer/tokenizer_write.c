/* tokenizer_write.c - a tokenizer as the tokenizer.json of Hugging Face's libraries. */
#include "data/tokenizer/tokenizer.h"

#include "base/file.h"
#include "data/tokenizer/alphabet.h"

#include <jansson.h>
#include <string.h>

static bool is_special(const mo_tokenizer *tokenizer, uint32_t id)
{
  size_t length = 0;
  uint32_t number = 0;
  const char *bytes = tokenizer_bytes(tokenizer, id, &length);
  return mo_text_table_find(&tokenizer->specials, bytes, length, &number);
}

/* In the byte alphabet, but a special token as it is. */
static json_t *spelled(const mo_tokenizer *tokenizer, uint32_t id)
{
  size_t length = 0;
  const char *bytes = tokenizer_bytes(tokenizer, id, &length);
  if (is_special(tokenizer, id)) return json_stringn(bytes, length);
  char *text = mo_allocate(NULL, 2 * length);
  if (text == NULL) return NULL;
  json_t *string = json_stringn(text, alphabet_spell(bytes, length, text));
  mo_release(NULL, text, 2 * length);
  return string;
}

/* A list with something missing, for want of memory, is no list. */
static json_t *complete(json_t *list, size_t have, size_t wanted)
{
  if (have == wanted) return list;
  json_decref(list);
  return NULL;
}

static json_t *vocabulary_json(const mo_tokenizer *tokenizer)
{
  json_t *vocab = json_object();
  for (uint32_t id = 0; id < tokenizer->tokens.count; id++) {
    json_t *key = spelled(tokenizer, id);
    json_object_set_new(vocab, json_string_value(key), json_integer(id));
    json_decref(key);
  }
  return complete(vocab, json_object_size(vocab), tokenizer->tokens.count);
}

/* "a b" and not ["a", "b"]: read by old and new versions. */
static json_t *merges_json(const mo_tokenizer *tokenizer)
{
  json_t *merges = json_array();
  for (size_t i = 0; i < tokenizer->merge_count; i++) {
    json_t *left = spelled(tokenizer, tokenizer->merges[i].left);
    json_t *right = spelled(tokenizer, tokenizer->merges[i].right);
    json_array_append_new(
        merges, json_sprintf("%s %s", json_string_value(left), json_string_value(right)));
    json_decref(left);
    json_decref(right);
  }
  return complete(merges, json_array_size(merges), tokenizer->merge_count);
}

static json_t *added_json(const mo_tokenizer *tokenizer)
{
  json_t *added = json_array();
  for (uint32_t id = 0; id < tokenizer->tokens.count; id++) {
    if (!is_special(tokenizer, id)) continue;
    size_t length = 0;
    const char *bytes = tokenizer_bytes(tokenizer, id, &length);
    json_array_append_new(added,
                          json_pack("{s:i, s:s%, s:b, s:b, s:b, s:b, s:b}", "id", (int)id,
                                    "content", bytes, length, "single_word", 0, "lstrip", 0,
                                    "rstrip", 0, "normalized", 0, "special", 1));
  }
  return complete(added, json_array_size(added), tokenizer->specials.count);
}

static json_t *byte_level(bool use_regex)
{
  return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", 0,
                   "trim_offsets", 1, "use_regex", use_regex);
}

static json_t *pre_tokenizer_json(const mo_tokenizer *tokenizer)
{
  if (tokenizer->pattern == NULL) return byte_level(true);
  return json_pack("{s:s, s:[{s:s, s:{s:s}, s:s, s:b}, o]}", "type", "Sequence",
                   "pretokenizers", "type", "Split", "pattern", "Regex", tokenizer->pattern,
                   "behavior", "Isolated", "invert", 0, byte_level(false));
}

static json_t *tokenizer_json(const mo_tokenizer *tokenizer)
{
  json_t *model =
      json_pack("{s:s, s:n, s:n, s:s, s:s, s:b, s:b, s:b, s:o, s:o}", "type", "BPE", "dropout",
                "unk_token", "continuing_subword_prefix", "", "end_of_word_suffix", "",
                "fuse_unk", 0, "byte_fallback", 0, "ignore_merges", tokenizer->whole_words,
                "vocab", vocabulary_json(tokenizer), "merges", merges_json(tokenizer));
  json_t *normalizer = tokenizer->nfc ? json_pack("{s:s}", "type", "NFC") : json_null();
  return json_pack("{s:s, s:n, s:n, s:o, s:o, s:o, s:o, s:o, s:o}", "version", "1.0",
                   "truncation", "padding", "added_tokens", added_json(tokenizer), "normalizer",
                   normalizer, "pre_tokenizer", pre_tokenizer_json(tokenizer), "post_processor",
                   byte_level(true), "decoder", byte_level(true), "model", model);
}

mousse_status tokenizer_save(const mo_tokenizer *tokenizer, const char *path, mo_error *error)
{
  json_t *json = tokenizer_json(tokenizer);
  char *text = json != NULL ? json_dumps(json, JSON_INDENT(1)) : NULL;
  json_decref(json);
  if (text == NULL)
    return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory to write a tokenizer", path);
  const mousse_status status = mo_file_write(path, text, strlen(text), error);
  json_free_t release = NULL;
  json_get_alloc_funcs(NULL, &release);
  release(text);
  return status;
}
