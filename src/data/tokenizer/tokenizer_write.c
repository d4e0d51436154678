/* tokenizer_write.c - a tokenizer as the tokenizer.json of Hugging Face's libraries. */
#include "data/tokenizer/tokenizer.h"

#include "base/file.h"
#include "data/tokenizer/alphabet.h"
#include "data/tokenizer/tokenizer_steps.h"

#include <string.h>

/* In the byte alphabet or SentencePiece's spelling, but a special token as it is. */
static json_t *spelled(const mo_tokenizer *tokenizer, uint32_t id)
{
  size_t length = 0;
  const char *bytes = mo_text_table_get(&tokenizer->tokens, id, &length);
  if (tokenizer->sentencepiece || tokenizer_is_special(tokenizer, id))
    return json_stringn(bytes, length);
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

static json_t *added_token_json(const mo_tokenizer *t, uint32_t id)
{
  size_t length = 0;
  const char *text = mo_text_table_get(&t->tokens, id, &length);
  const unsigned kept = t->attributes != NULL ? t->attributes[id] : 0;
  const bool late = added_tokens_have(&t->found_late, text, length);
  return json_pack("{s:i, s:s%, s:b, s:b, s:b, s:b, s:b}", "id", (int)id, "content", text,
                   length, "single_word", (kept & TOKENIZER_SINGLE_WORD) != 0, "lstrip",
                   (kept & TOKENIZER_LSTRIP) != 0, "rstrip", (kept & TOKENIZER_RSTRIP) != 0,
                   "normalized", late || (kept & TOKENIZER_NORMALIZED) != 0, "special",
                   !tokenizer_is_shown(t, id));
}

static json_t *added_json(const mo_tokenizer *tokenizer)
{
  json_t *added = json_array();
  for (uint32_t id = 0; id < tokenizer->tokens.count; id++)
    if (tokenizer_is_special(tokenizer, id))
      json_array_append_new(added, added_token_json(tokenizer, id));
  return complete(added, json_array_size(added), tokenizer->specials.count);
}

/* The token that stands for what has none; SentencePiece's kind always names it. */
static json_t *unknown_json(const mo_tokenizer *tokenizer)
{
  uint32_t id = 0;
  const bool found = tokenizer->sentencepiece &&
                     mo_text_table_find(&tokenizer->tokens, "<unk>", strlen("<unk>"), &id);
  return found ? json_string("<unk>") : json_null();
}

static json_t *tokenizer_json(const mo_tokenizer *tokenizer)
{
  json_t *affix = tokenizer->sentencepiece ? json_null() : json_string("");
  json_t *model = json_pack(
      "{s:s, s:n, s:o, s:O, s:o, s:b, s:b, s:b, s:o, s:o}", "type", "BPE", "dropout",
      "unk_token", unknown_json(tokenizer), "continuing_subword_prefix", affix,
      "end_of_word_suffix", affix, "fuse_unk", tokenizer->sentencepiece, "byte_fallback",
      tokenizer->sentencepiece, "ignore_merges", tokenizer->whole_words, "vocab",
      vocabulary_json(tokenizer), "merges", merges_json(tokenizer));
  json_t *root = json_pack("{s:s, s:n, s:n, s:o}", "version", "1.0", "truncation", "padding",
                           "added_tokens", added_json(tokenizer));
  if (root != NULL && model != NULL && tokenizer_write_steps(tokenizer, root) &&
      json_object_set_new(root, "model", model) == 0)
    return root;
  json_decref(root);
  return NULL;
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
