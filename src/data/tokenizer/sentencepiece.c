/* sentencepiece.c - SentencePiece's spelling of text, and what its tokens stand for. */
#include "data/tokenizer/sentencepiece.h"

#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

enum { SPACE_BYTES = sizeof SENTENCEPIECE_SPACE - 1, BYTE_TOKEN = 6 };

static bool starts_with_space(const char *text, size_t length)
{
  return length >= SPACE_BYTES && memcmp(text, SENTENCEPIECE_SPACE, SPACE_BYTES) == 0;
}

static int digit(char c)
{
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int sentencepiece_byte(const char *token, size_t length)
{
  if (length != BYTE_TOKEN || memcmp(token, "<0x", 3) != 0 || token[5] != '>') return -1;
  const int high = digit(token[3]), low = digit(token[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

static mousse_status find_byte_tokens(mo_tokenizer *t, const char *name, mo_error *error)
{
  for (unsigned byte = 0; byte < 256; byte++) {
    char token[BYTE_TOKEN + 1];
    snprintf(token, sizeof token, "<0x%02X>", byte);
    if (!mo_text_table_find(&t->tokens, token, BYTE_TOKEN, &t->byte_ids[byte]))
      return mo_fail(error, MOUSSE_BAD_FORMAT,
                     "%s: model.byte_fallback is set, but the vocabulary has no token %s", name,
                     token);
  }
  return MOUSSE_OK;
}

/* Appends what a token stands for. */
static bool add_text(mo_buffer *out, const char *token, size_t length)
{
  const int byte = sentencepiece_byte(token, length);
  const char character = (char)byte;
  if (byte >= 0) return mo_buffer_add(out, &character, 1);
  bool fine = true;
  for (size_t at = 0; at < length && fine;) {
    const bool space = starts_with_space(token + at, length - at);
    fine = mo_buffer_add(out, space ? " " : token + at, 1);
    at += space ? SPACE_BYTES : 1;
  }
  return fine;
}

/* Has the token a space behind another character? */
static bool has_inner_space(const char *token, size_t length)
{
  bool other = false;
  for (size_t at = 0; at < length;) {
    const bool space = starts_with_space(token + at, length - at);
    if (space && other) return true;
    other = other || !space;
    at += space ? SPACE_BYTES : 1;
  }
  return false;
}

mousse_status sentencepiece_finish(mo_tokenizer *t, const char *name, mo_error *error)
{
  MO_TRY(find_byte_tokens(t, name, error));
  t->spaces_lead = true;
  t->text_ends = mo_allocate(NULL, t->tokens.count * sizeof *t->text_ends);
  if (t->text_ends == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory", name);
  for (uint32_t id = 0; id < t->tokens.count; id++) {
    size_t length = 0;
    const char *token = mo_text_table_get(&t->tokens, id, &length);
    if (!add_text(&t->texts, token, length))
      return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory", name);
    t->text_ends[id] = t->texts.size;
    if (has_inner_space(token, length)) t->spaces_lead = false;
  }
  return MOUSSE_OK;
}

static bool wants_prefix(const mo_tokenizer *t, const char *text, size_t length)
{
  const bool space = length > 0 && (text[0] == ' ' || starts_with_space(text, length));
  return length > 0 && t->prefix != TOKENIZER_PREFIX_NONE &&
         (t->prefix == TOKENIZER_PREFIX_ALWAYS || !space);
}

bool sentencepiece_spell(const mo_tokenizer *t, const char *text, size_t length, bool starts,
                         mo_buffer *spelled)
{
  bool fine = true;
  if (starts && wants_prefix(t, text, length))
    fine = mo_buffer_add(spelled, SENTENCEPIECE_SPACE, SPACE_BYTES);
  for (size_t at = 0; at < length && fine;) {
    const char *space = memchr(text + at, ' ', length - at);
    const size_t end = space != NULL ? (size_t)(space - text) : length;
    fine = mo_buffer_add(spelled, text + at, end - at) &&
           (space == NULL || mo_buffer_add(spelled, SENTENCEPIECE_SPACE, SPACE_BYTES));
    at = end + (space != NULL);
  }
  return fine;
}

mousse_status sentencepiece_cut(const mo_tokenizer *t, const char *spelled, size_t length,
                                split_piece piece, void *user)
{
  size_t done = 0;
  bool behind_other = false; /* than a space */
  for (size_t at = 0; at < length && (t->spaces_lead || t->each_space);) {
    const bool space = starts_with_space(spelled + at, length - at);
    if (space && at > done && (behind_other || t->each_space)) {
      MO_TRY(piece(user, spelled + done, at - done));
      done = at;
    }
    behind_other = !space;
    at += space ? SPACE_BYTES : 1;
  }
  return done < length ? piece(user, spelled + done, length - done) : MOUSSE_OK;
}

size_t sentencepiece_start(const mo_tokenizer *t, const char *spelled, size_t length,
                           uint32_t ids[4], size_t *step)
{
  *step = mo_utf8_sequence(spelled, length);
  if (*step == 0) *step = 1; /* not UTF-8: a byte alone */
  if (mo_text_table_find(&t->tokens, spelled, *step, &ids[0])) return 1;
  for (size_t i = 0; i < *step; i++) ids[i] = t->byte_ids[(unsigned char)spelled[i]];
  return *step;
}
