/* tokenizer_read.c - tokenizer.json, or vocab.json with merges.txt, checked.
 *
 *     tokenizer.json  Hugging Face's: .model {type BPE, vocab {token: id}, merges ["a b", ...]
 *                     or [["a", "b"], ...]}, .added_tokens [{id, content, special}], .pre_tokenizer
 *     vocab.json      {token: id}
 *     merges.txt      an optional first line "#version: ...", then one "a b" per line, the
 *                     best first
 *
 * Tokens are spelled in the byte alphabet (alphabet.h) or as SentencePiece does
 * (sentencepiece.h); added tokens are literal text.
 */
#include "data/tokenizer/tokenizer.h"

#include "base/json_text.h"
#include "data/tokenizer/alphabet.h"
#include "data/tokenizer/tokenizer_steps.h"

#include <string.h>

enum { MOST_TOKENS = 1 << 21, MOST_VALUES = 1 << 22 };

/* A token as the file gives it. */
typedef struct entry {
  const char *text; /* borrowed from the JSON */
  size_t length;
  bool literal; /* an added one, not in the byte alphabet */
  bool shown;   /* of these: "special" is false */
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
    MO_TRY(place(entries, count, json_object_iter_value(i),
                 (entry){.text = text, .length = strlen(text)}, name, error));
  }
  json_array_foreach(added, index, value)
  {
    text = json_string_value(json_object_get(value, "content"));
    if (text == NULL)
      return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: added_tokens[%zu] has no content", name,
                     index);
    const bool shown = json_is_false(json_object_get(value, "special"));
    MO_TRY(place(entries, count, json_object_get(value, "id"),
                 (entry){text, strlen(text), true, shown}, name, error));
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
                 "%s: token '%.*s' is not spelled in the byte-level alphabet; SentencePiece "
                 "tokenizers set model.byte_fallback",
                 name, length < 80 ? (int)length : 80, text);
}

static mousse_status add_token(mo_tokenizer *tokenizer, const char *name, const char *bytes,
                               size_t length, bool special, mo_error *error)
{
  mo_error inner = {{0}};
  const mousse_status status = tokenizer_add_token(tokenizer, bytes, length, special, &inner);
  return status == MOUSSE_OK ? status : mo_fail(error, status, "%s: %s", name, inner.text);
}

static mousse_status add_entry(mo_tokenizer *tokenizer, const char *name, entry token,
                               mo_error *error)
{
  uint32_t number = 0;
  bool added = false;
  if (token.shown &&
      !mo_text_table_add(&tokenizer->shown, token.text, token.length, &number, &added))
    return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory", name);
  if (token.literal || tokenizer->sentencepiece)
    return add_token(tokenizer, name, token.text, token.length, token.literal, error);
  size_t count = 0;
  char *bytes = mo_allocate(NULL, token.length);
  if (bytes == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory", name);
  mousse_status status = read_spelled(name, token.text, token.length, bytes, &count, error);
  if (status == MOUSSE_OK) status = add_token(tokenizer, name, bytes, count, false, error);
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

/* The same for the sides of a merge; SentencePiece's spelling is what the table has. */
static mousse_status read_side(const mo_tokenizer *tokenizer, const char *name,
                               const char *text, size_t length, char *buffer, size_t *count,
                               mo_error *error)
{
  if (!tokenizer->sentencepiece) return read_spelled(name, text, length, buffer, count, error);
  memcpy(buffer, text, length);
  *count = length;
  return MOUSSE_OK;
}

/* One merge whose sides are spelled as tokens are. */
static mousse_status read_merge(mo_tokenizer *tokenizer, const char *name, const char *left,
                                size_t left_length, const char *right, size_t right_length,
                                mo_error *error)
{
  size_t left_count = 0, right_count = 0;
  if (left_length == 0 || right_length == 0 || memchr(left, ' ', left_length) != NULL ||
      memchr(right, ' ', right_length) != NULL)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: merge %zu is not two tokens without spaces",
                   name, tokenizer->merge_count);
  const size_t room = left_length + right_length;
  char *bytes = mo_allocate(NULL, room);
  if (bytes == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory", name);
  char *behind = bytes + left_length;
  mousse_status status =
      read_side(tokenizer, name, left, left_length, bytes, &left_count, error);
  if (status == MOUSSE_OK)
    status = read_side(tokenizer, name, right, right_length, behind, &right_count, error);
  if (status == MOUSSE_OK) {
    mo_error inner = {{0}};
    status = tokenizer_add_merge(tokenizer, bytes, left_count, behind, right_count, &inner);
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

static mousse_status read_tokenizer(mo_tokenizer *tokenizer, const char *name,
                                    const json_t *root, mo_error *error)
{
  const char *pattern = NULL;
  const json_t *model = json_object_get(root, "model");
  MO_TRY(tokenizer_read_steps(tokenizer, root, name, &pattern, error));
  MO_TRY(read_vocabulary(tokenizer, name, json_object_get(model, "vocab"),
                         json_object_get(root, "added_tokens"), error));
  MO_TRY(read_merges_json(tokenizer, name, json_object_get(model, "merges"), error));
  MO_TRY(tokenizer_finish(tokenizer, name, pattern, error));
  MO_TRY(tokenizer_read_start(tokenizer, root, name, error));
  return tokenizer_read_added(tokenizer, root, name, error);
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
