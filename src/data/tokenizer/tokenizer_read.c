/* tokenizer_read.c - tokenizer.json, or vocab.json with merges.txt, checked.
 *
 *     tokenizer.json  Hugging Face's: .model {type BPE, vocab {token: id}, merges ["a b", ...]
 *                     or [["a", "b"], ...]}, .added_tokens [{id, content}], .pre_tokenizer
 *     vocab.json      {token: id}
 *     merges.txt      an optional first line "#version: ...", then one "a b" per line, the
 *                     best first
 *
 * Tokens are spelled in the byte alphabet (alphabet.h); added tokens are literal text.
 */
#include "data/tokenizer/tokenizer.h"

#include "base/json_text.h"
#include "data/tokenizer/alphabet.h"

#include <string.h>

enum { MOST_TOKENS = 1 << 21, MOST_VALUES = 1 << 22 };

static const char gpt2_split[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+|"
                                 " ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/* Every digit alone, then GPT-2's rule, as one expression: what ends at a digit ends there. */
static const char digits_split[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+|\\p{N}|"
                                   " ?[^\\s\\p{L}\\p{N}]+|\\s+(?![^\\s\\p{N}])|\\s+";

/* A token as the file gives it. */
typedef struct entry {
  const char *text; /* borrowed from the JSON */
  size_t length;
  bool literal; /* not in the byte alphabet */
} entry;

static mousse_status parse_text(json_t **json, const char *name, const char *data, size_t size,
                                mo_error *error)
{
  return mo_json_parse(json, name, data, size, MOST_VALUES, JSON_REJECT_DUPLICATES, error);
}

static mousse_status place(entry *entries, size_t count, const json_t *id, entry new_entry,
                           const char *name, mo_error *error)
{
  if (!json_is_integer(id))
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: the id of token '%.80s' is not a whole number", name, new_entry.text);
  const json_int_t value = json_integer_value(id);
  if (value < 0 || (uint64_t)value >= count)
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: token '%.80s' has id %lld, expected 0 to %zu, as there are %zu tokens",
                   name, new_entry.text, (long long)value, count - 1, count);
  entry *at = &entries[value];
  if (at->text != NULL && !(new_entry.literal && strcmp(at->text, new_entry.text) == 0))
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: id %lld is given to '%.80s' and to '%.80s'",
                   name, (long long)value, at->text, new_entry.text);
  *at = new_entry;
  return MOUSSE_OK;
}

/* How many ids there must be: those of the vocabulary and added tokens that are not in it. */
static size_t count_tokens(const json_t *vocab, const json_t *added)
{
  size_t count = json_object_size(vocab), index = 0;
  const json_t *token = NULL;
  json_array_foreach(added, index, token)
  {
    const char *content = json_string_value(json_object_get(token, "content"));
    if (content != NULL && json_object_get(vocab, content) == NULL) count++;
  }
  return count;
}

static mousse_status gather(entry *entries, size_t count, json_t *vocab, const json_t *added,
                            const char *name, mo_error *error)
{
  const char *text = NULL;
  const json_t *value = NULL;
  size_t index = 0;
  for (void *i = json_object_iter(vocab); i != NULL; i = json_object_iter_next(vocab, i)) {
    text = json_object_iter_key(i);
    MO_TRY(place(entries, count, json_object_iter_value(i), (entry){text, strlen(text), false},
                 name, error));
  }
  json_array_foreach(added, index, value)
  {
    text = json_string_value(json_object_get(value, "content"));
    if (text == NULL)
      return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: added_tokens[%zu] has no content", name,
                     index);
    MO_TRY(place(entries, count, json_object_get(value, "id"),
                 (entry){text, strlen(text), true}, name, error));
  }
  for (size_t id = 0; id < count; id++)
    if (entries[id].text == NULL)
      return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: id %zu is missing from the vocabulary",
                     name, id);
  return MOUSSE_OK;
}

/* Bytes of a token spelled in the alphabet; buffer has room for length bytes. */
static mousse_status read_spelled(const char *name, const char *text, size_t length,
                                  char *buffer, size_t *count, mo_error *error)
{
  if (alphabet_read(text, length, buffer, count)) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_BAD_FORMAT,
                 "%s: token '%.*s' is not spelled in the byte-level alphabet; only byte-level "
                 "BPE is supported",
                 name, length < 80 ? (int)length : 80, text);
}

static mousse_status add_entry(mo_tokenizer *tokenizer, const char *name, entry token,
                               mo_error *error)
{
  if (token.literal)
    return tokenizer_add_token(tokenizer, token.text, token.length, true, error);
  size_t count = 0;
  char *bytes = mo_allocate(NULL, token.length);
  if (bytes == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory", name);
  mousse_status status = read_spelled(name, token.text, token.length, bytes, &count, error);
  if (status == MOUSSE_OK) status = tokenizer_add_token(tokenizer, bytes, count, false, error);
  mo_release(NULL, bytes, token.length);
  return status;
}

static mousse_status read_vocabulary(mo_tokenizer *tokenizer, const char *name, json_t *vocab,
                                     const json_t *added, mo_error *error)
{
  if (!json_is_object(vocab))
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: the vocabulary is not a JSON object", name);
  const size_t count = count_tokens(vocab, added);
  if (count == 0 || count > MOST_TOKENS)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: %zu tokens, expected 1 to %d", name, count,
                   MOST_TOKENS);
  entry *entries = mo_allocate(NULL, count * sizeof *entries);
  if (entries == NULL)
    return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory for %zu tokens", name, count);
  mousse_status status = gather(entries, count, vocab, added, name, error);
  for (size_t id = 0; id < count && status == MOUSSE_OK; id++)
    status = add_entry(tokenizer, name, entries[id], error);
  mo_release(NULL, entries, count * sizeof *entries);
  return status;
}

/* One merge whose sides are given in the alphabet. */
static mousse_status read_merge(mo_tokenizer *tokenizer, const char *name, const char *left,
                                size_t left_length, const char *right, size_t right_length,
                                mo_error *error)
{
  size_t left_count = 0, right_count = 0;
  if (left_length == 0 || right_length == 0)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: merge %zu is not two tokens", name,
                   tokenizer->merge_count);
  const size_t room = left_length + right_length;
  char *bytes = mo_allocate(NULL, room);
  if (bytes == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory", name);
  mousse_status status = read_spelled(name, left, left_length, bytes, &left_count, error);
  if (status == MOUSSE_OK)
    status = read_spelled(name, right, right_length, bytes + left_length, &right_count, error);
  if (status == MOUSSE_OK) {
    mo_error inner = {{0}};
    status = tokenizer_add_merge(tokenizer, bytes, left_count, bytes + left_length, right_count,
                                 &inner);
    if (status != MOUSSE_OK) status = mo_fail(error, status, "%s: %s", name, inner.text);
  }
  mo_release(NULL, bytes, room);
  return status;
}

static mousse_status read_merge_line(mo_tokenizer *tokenizer, const char *name,
                                     const char *line, size_t length, mo_error *error)
{
  const char *space = memchr(line, ' ', length);
  const size_t left = space != NULL ? (size_t)(space - line) : 0;
  if (left == 0 || memchr(space + 1, ' ', length - left - 1) != NULL)
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: merge %zu, '%.*s', is not two tokens with one space between them", name,
                   tokenizer->merge_count, length < 80 ? (int)length : 80, line);
  return read_merge(tokenizer, name, line, left, space + 1, length - left - 1, error);
}

static mousse_status read_merges_text(mo_tokenizer *tokenizer, const char *name,
                                      const char *text, size_t size, mo_error *error)
{
  bool first = true;
  for (size_t at = 0; at < size; first = false) {
    const char *line = text + at, *end = memchr(line, '\n', size - at);
    size_t length = end != NULL ? (size_t)(end - line) : size - at;
    at += length + 1;
    if (length > 0 && line[length - 1] == '\r') length--;
    const bool is_version = first && length >= 8 && memcmp(line, "#version", 8) == 0;
    if (length > 0 && !is_version)
      MO_TRY(read_merge_line(tokenizer, name, line, length, error));
  }
  return MOUSSE_OK;
}

static mousse_status read_merges_json(mo_tokenizer *tokenizer, const char *name,
                                      const json_t *merges, mo_error *error)
{
  size_t index = 0;
  const json_t *merge = NULL;
  if (!json_is_array(merges))
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: model.merges is not an array", name);
  json_array_foreach(merges, index, merge)
  {
    const json_t *left = json_array_get(merge, 0), *right = json_array_get(merge, 1);
    if (json_is_string(merge))
      MO_TRY(read_merge_line(tokenizer, name, json_string_value(merge),
                             json_string_length(merge), error));
    else if (json_array_size(merge) == 2 && json_is_string(left) && json_is_string(right))
      MO_TRY(read_merge(tokenizer, name, json_string_value(left), json_string_length(left),
                        json_string_value(right), json_string_length(right), error));
    else
      return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: model.merges[%zu] is not two tokens", name,
                     index);
  }
  return MOUSSE_OK;
}

static bool is_type(const json_t *object, const char *type)
{
  const char *text = json_string_value(json_object_get(object, "type"));
  return text != NULL && strcmp(text, type) == 0;
}

/* GPT-2's ByteLevel alone, Split by an expression followed by ByteLevel without one, or single
 * Digits followed by GPT-2's. */
static mousse_status read_pattern(const json_t *pre, const char *name, const char **pattern,
                                  mo_error *error)
{
  const json_t *steps = json_object_get(pre, "pretokenizers");
  const json_t *split = json_array_get(steps, 0), *bytes = pre;
  *pattern = NULL;
  if (is_type(pre, "Sequence") && json_array_size(steps) == 2 && is_type(split, "Split")) {
    bytes = json_array_get(steps, 1);
    *pattern = json_string_value(json_object_get(json_object_get(split, "pattern"), "Regex"));
    const char *behavior = json_string_value(json_object_get(split, "behavior"));
    const bool usable = *pattern != NULL && behavior != NULL &&
                        strcmp(behavior, "Isolated") == 0 &&
                        !json_is_true(json_object_get(split, "invert")) &&
                        json_is_false(json_object_get(bytes, "use_regex"));
    if (!usable) bytes = NULL;
    if (usable && strcmp(*pattern, gpt2_split) == 0) *pattern = NULL;
  } else if (is_type(pre, "Sequence") && json_array_size(steps) == 2 &&
             is_type(split, "Digits")) {
    bytes = json_array_get(steps, 1);
    *pattern = digits_split;
    if (!json_is_true(json_object_get(split, "individual_digits")) ||
        json_is_false(json_object_get(bytes, "use_regex")))
      bytes = NULL;
  }
  if (!is_type(bytes, "ByteLevel") || json_is_true(json_object_get(bytes, "add_prefix_space")))
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: pre_tokenizer is not one that is supported: ByteLevel without "
                   "add_prefix_space, alone or after one Split (Regex, Isolated) or Digits",
                   name);
  return MOUSSE_OK;
}

static mousse_status check_model(const json_t *root, const char *name, mo_error *error)
{
  const json_t *model = json_object_get(root, "model");
  const json_t *normalizer = json_object_get(root, "normalizer");
  const json_t *type = json_object_get(model, "type");
  if (!json_is_object(model) || (type != NULL && !is_type(model, "BPE")))
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: model.type is not BPE", name);
  /* NFC leaves almost all text as it is; we leave all of it, as llama.cpp does. */
  if (normalizer != NULL && !json_is_null(normalizer) && !is_type(normalizer, "NFC"))
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: has a normalizer, which changes text; only tokenizers that keep every "
                   "byte are supported (SentencePiece's are not)",
                   name);
  return MOUSSE_OK;
}

static mousse_status read_tokenizer(mo_tokenizer *tokenizer, const char *name,
                                    const json_t *root, mo_error *error)
{
  const char *pattern = NULL;
  const json_t *model = json_object_get(root, "model");
  MO_TRY(check_model(root, name, error));
  MO_TRY(read_pattern(json_object_get(root, "pre_tokenizer"), name, &pattern, error));
  MO_TRY(read_vocabulary(tokenizer, name, json_object_get(model, "vocab"),
                         json_object_get(root, "added_tokens"), error));
  MO_TRY(read_merges_json(tokenizer, name, json_object_get(model, "merges"), error));
  tokenizer->nfc = is_type(json_object_get(root, "normalizer"), "NFC");
  tokenizer->whole_words = json_is_true(json_object_get(model, "ignore_merges"));
  return tokenizer_finish(tokenizer, name, pattern, error);
}

mousse_status tokenizer_parse_json(mo_tokenizer *tokenizer, const char *name, const char *data,
                                   size_t size, mo_error *error)
{
  json_t *root = NULL;
  *tokenizer = (struct mo_tokenizer){0};
  MO_TRY(parse_text(&root, name, data, size, error));
  const mousse_status status = read_tokenizer(tokenizer, name, root, error);
  json_decref(root);
  if (status != MOUSSE_OK) tokenizer_close(tokenizer);
  return status;
}

mousse_status tokenizer_parse_pair(mo_tokenizer *tokenizer, const char *vocabulary_name,
                                   const char *vocabulary, size_t vocabulary_size,
                                   const char *merges_name, const char *merges,
                                   size_t merges_size, mo_error *error)
{
  json_t *vocab = NULL;
  *tokenizer = (struct mo_tokenizer){0};
  MO_TRY(parse_text(&vocab, vocabulary_name, vocabulary, vocabulary_size, error));
  mousse_status status = read_vocabulary(tokenizer, vocabulary_name, vocab, NULL, error);
  json_decref(vocab);
  if (status == MOUSSE_OK)
    status = read_merges_text(tokenizer, merges_name, merges, merges_size, error);
  if (status == MOUSSE_OK) status = tokenizer_finish(tokenizer, vocabulary_name, NULL, error);
  if (status != MOUSSE_OK) tokenizer_close(tokenizer);
  return status;
}
