/* added_tokens.c - a sorted list of tokens, and where they stand in text. */
#include "data/tokenizer/added_tokens.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

bool added_tokens_add(added_tokens *tokens, added_token token)
{
  if (!mo_grow(NULL, &tokens->sorted, &tokens->capacity, tokens->count + 1,
               sizeof *tokens->sorted))
    return false;
  tokens->sorted[tokens->count++] = token;
  return true;
}

/* By bytes; of two that begin alike the shorter one first. */
static int compare(const void *a, const void *b)
{
  const added_token *x = a, *y = b;
  const int order = memcmp(x->text, y->text, x->length < y->length ? x->length : y->length);
  return order != 0 ? order : (x->length > y->length) - (x->length < y->length);
}

void added_tokens_sort(added_tokens *tokens)
{
  if (tokens->count == 0) return;
  qsort(tokens->sorted, tokens->count, sizeof *tokens->sorted, compare);
  for (size_t byte = 0, i = 0; byte <= 256; byte++) {
    while (i < tokens->count && (unsigned char)tokens->sorted[i].text[0] < byte) i++;
    tokens->first[byte] = (uint32_t)i;
  }
}

void added_tokens_close(added_tokens *tokens)
{
  mo_release(NULL, tokens->sorted, tokens->capacity * sizeof *tokens->sorted);
  *tokens = (added_tokens){0};
}

/* Tokens from low on and before high: all longer than depth, and alike before it. */
typedef struct range {
  size_t low, high;
} range;

/* The first of them whose byte at depth is not below `byte`. */
static size_t lower_bound(const added_tokens *tokens, range r, size_t depth, unsigned byte)
{
  while (r.low < r.high) {
    const size_t middle = (r.low + r.high) / 2;
    if ((unsigned char)tokens->sorted[middle].text[depth] < byte)
      r.low = middle + 1;
    else
      r.high = middle;
  }
  return r.low;
}

/* Those of them that have this byte at depth. Often all have, as <tool_call> and <tool_response>
 * for six bytes. */
static range narrow(const added_tokens *tokens, range r, size_t depth, char byte)
{
  if (tokens->sorted[r.low].text[depth] == byte &&
      tokens->sorted[r.high - 1].text[depth] == byte)
    return r;
  const unsigned value = (unsigned char)byte;
  r.low = lower_bound(tokens, r, depth, value);
  r.high = lower_bound(tokens, r, depth, value + 1);
  return r;
}

/* The longest token that text, of at least one byte, begins with. */
static const added_token *longest_at(const added_tokens *tokens, const char *text,
                                     size_t length)
{
  const added_token *found = NULL;
  const unsigned char byte = (unsigned char)text[0];
  range r = {tokens->first[byte], tokens->first[byte + 1]};
  for (size_t depth = 1; r.low < r.high; depth++) {
    if (tokens->sorted[r.low].length == depth) found = &tokens->sorted[r.low++];
    if (depth == length || r.low == r.high) break;
    r = narrow(tokens, r, depth, text[depth]);
  }
  return found;
}

const added_token *added_tokens_find(const added_tokens *tokens, const char *text,
                                     size_t length, size_t *at)
{
  if (tokens->count == 0) *at = length; /* nothing to look for */
  for (; *at < length; ++*at) {
    const added_token *found = longest_at(tokens, text + *at, length - *at);
    if (found != NULL) return found;
  }
  return NULL;
}

bool added_tokens_cross(const added_tokens *tokens, const char *text, size_t length, size_t at)
{
  size_t from = at > ADDED_LONGEST ? at - ADDED_LONGEST : 0;
  for (; from < at && tokens->count > 0; from++) {
    const added_token *found = longest_at(tokens, text + from, length - from);
    if (found != NULL && from + found->length > at) return true;
  }
  return false;
}

bool added_tokens_have(const added_tokens *tokens, const char *text, size_t length)
{
  const added_token *found = NULL;
  if (tokens->count > 0 && length > 0) found = longest_at(tokens, text, length);
  return found != NULL && found->length == length;
}
