/* tokenizer_added.c - which added tokens of a tokenizer.json are found in text.
 *
 *     "special": true      never, nor is a token that marks where a text or a message starts or ends
 *     "normalized": false  in the text as it is
 *     "normalized": true   then, in what lies between, once that is in normal form C
 *
 * What is found stands for its own characters and no others, so that text comes back from its ids.
 * A token that would take more with it is refused, and so is one whose attributes other programs
 * read in different ways.
 */
#include "data/tokenizer/tokenizer_steps.h"

#include "data/tokenizer/chat.h"
#include "data/tokenizer/nfc.h"
#include "data/tokenizer/sentencepiece.h"

#include <string.h>

static const struct attribute {
  const char *name, *reason;
} refused_attributes[] = {
    {"lstrip", "it would take white space before the token out of the text"},
    {"rstrip", "it would take white space behind the token out of the text"},
    {"single_word", "programs differ in what they take for a word"},
};

/* Of SentencePiece's kind: the space before a text must be told from one of the text, and from
 * one of a token. */
static const char *why_not_beside_spaces(const mo_tokenizer *t, const added_token *token)
{
  const size_t space = strlen(SENTENCEPIECE_SPACE);
  uint32_t id = 0;
  if (sentencepiece_byte(token->text, token->length) >= 0)
    return "stands for a byte, not for its name; set special to true";
  if (t->prefix == TOKENIZER_PREFIX_NONE) return NULL;
  if (t->prefix == TOKENIZER_PREFIX_UNLESS_SPACE)
    return "gets a space behind it that cannot be told from one in the text; set the "
           "prepend_scheme of Metaspace to first, or special to true";
  if (token->length >= space && memcmp(token->text, SENTENCEPIECE_SPACE, space) == 0)
    return "begins with U+2581, as the first word of a text does; set special to true";
  if (!mo_text_table_find(&t->tokens, SENTENCEPIECE_SPACE, space, &id))
    return "may get a space behind it, for which there is no token; set special to true";
  return NULL;
}

/* Why such a token cannot be found in text, and what to do about it; NULL: it can be. */
static const char *why_not(const mo_tokenizer *t, const added_token *token)
{
  if (token->length > ADDED_LONGEST) return "is longer than 256 bytes; set special to true";
  return t->sentencepiece ? why_not_beside_spaces(t, token) : NULL;
}

static bool is_in_normal_form(const char *text, size_t length)
{
  mo_buffer normal = {0};
  if (nfc_is_certain(text, length)) return true;
  const bool same = nfc_add(&normal, text, length) && normal.size == length &&
                    memcmp(normal.data, text, length) == 0;
  mo_buffer_close(&normal);
  return same;
}

static bool has_space(const char *text, size_t length)
{
  return memchr(text, ' ', length) != NULL ||
         memmem(text, length, SENTENCEPIECE_SPACE, strlen(SENTENCEPIECE_SPACE)) != NULL;
}

/* Likewise of one that is looked for in normalized text, for which it is normalized itself. */
static const char *why_not_late(const mo_tokenizer *t, const added_token *token)
{
  if (t->prefix == TOKENIZER_PREFIX_ALWAYS)
    return "is normalized, which puts a space before it; set normalized to false";
  if (t->sentencepiece && t->prefix == TOKENIZER_PREFIX_NONE &&
      has_space(token->text, token->length))
    return "is normalized and has a space; set normalized to false";
  if (t->nfc && !is_in_normal_form(token->text, token->length))
    return "is normalized and not in normal form C; set normalized to false";
  return NULL;
}

static mousse_status check_attributes(const json_t *json, const char *name, mo_error *error)
{
  for (size_t i = 0; i < sizeof refused_attributes / sizeof *refused_attributes; i++) {
    const struct attribute *a = &refused_attributes[i];
    if (!json_is_true(json_object_get(json, a->name))) continue;
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: added token '%.80s' is not special and has %s, which is not supported: "
                   "%s; set %s to false, or special to true",
                   name, json_string_value(json_object_get(json, "content")), a->name,
                   a->reason, a->name);
  }
  return MOUSSE_OK;
}

/* As Hugging Face's library has it where the file says nothing. */
static bool is_late(const json_t *json)
{
  return !json_is_false(json_object_get(json, "normalized"));
}

static mousse_status read_token(mo_tokenizer *t, const json_t *json, added_token token,
                                const char *name, mo_error *error)
{
  const bool late = is_late(json);
  MO_TRY(check_attributes(json, name, error));
  const char *reason = why_not(t, &token);
  if (reason == NULL && late) reason = why_not_late(t, &token);
  if (reason != NULL)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: added token '%.*s' is not special and %s",
                   name, token.length < 80 ? (int)token.length : 80, token.text, reason);
  if (added_tokens_add(late ? &t->found_late : &t->found, token)) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory", name);
}

/* Of one that is not found, for the file that is written of it. */
static mousse_status keep_attributes(mo_tokenizer *t, uint32_t id, const json_t *json,
                                     const char *name, mo_error *error)
{
  static const struct {
    const char *name;
    tokenizer_attribute value;
  } kept[] = {{"single_word", TOKENIZER_SINGLE_WORD},
              {"lstrip", TOKENIZER_LSTRIP},
              {"rstrip", TOKENIZER_RSTRIP},
              {"normalized", TOKENIZER_NORMALIZED}};
  unsigned all = 0;
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
    if (json_is_true(json_object_get(json, kept[i].name))) all |= kept[i].value;
  if (all == 0) return MOUSSE_OK;
  if (t->attributes == NULL)
    t->attributes = mo_allocate(NULL, t->tokens.count * sizeof *t->attributes);
  if (t->attributes == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory", name);
  t->attributes[id] = (uint8_t)all;
  return MOUSSE_OK;
}

/* Tokens that say where texts and messages start and end: text must not be able to say so. */
static bool is_never_found(const mo_tokenizer *t, const added_token *token)
{
  return token->id == t->end_of_text || token->id == t->start_of_text ||
         tokenizer_names_end(token->text, token->length) ||
         chat_is_control(token->text, token->length);
}

/* One that is listed; *seen: what has been read. The texts are those of the tokenizer, which
 * outlive the file. */
static mousse_status read_listed(mo_tokenizer *t, const json_t *json, mo_text_table *seen,
                                 const char *name, mo_error *error)
{
  const json_t *content = json_object_get(json, "content");
  added_token token = {0};
  uint32_t number = 0;
  bool is_new = false;
  if (!mo_text_table_find(&t->tokens, json_string_value(content), json_string_length(content),
                          &token.id))
    return MOUSSE_OK;
  token.text = mo_text_table_get(&t->tokens, token.id, &token.length);
  if (!mo_text_table_add(seen, token.text, token.length, &number, &is_new))
    return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory", name);
  if (!is_new) return MOUSSE_OK;
  if (!tokenizer_is_shown(t, token.id) || is_never_found(t, &token))
    return keep_attributes(t, token.id, json, name, error);
  return read_token(t, json, token, name, error);
}

mousse_status tokenizer_read_added(mo_tokenizer *t, const json_t *root, const char *name,
                                   mo_error *error)
{
  const json_t *list = json_object_get(root, "added_tokens");
  mo_text_table seen = {0};
  mousse_status status = MOUSSE_OK;
  /* From the last to the first: of one that is listed twice, the last counts. */
  for (size_t i = json_array_size(list); i-- > 0 && status == MOUSSE_OK;)
    status = read_listed(t, json_array_get(list, i), &seen, name, error);
  mo_text_table_close(&seen);
  added_tokens_sort(&t->found);
  added_tokens_sort(&t->found_late);
  return status;
}
