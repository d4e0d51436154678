/* added_tokens.h - tokens that are looked for in text before it is split and merged.
 *
 * The first place where one of them stands counts, and of those that stand there the longest:
 * with "ab", "abc" and "cd", "abcd" is abc d. Tokens never overlap.
 *
 * They lie sorted by their bytes, so that those which begin with the same bytes are neighbours;
 * every further byte of text narrows that range. As no token is longer than ADDED_LONGEST, a text
 * of n bytes takes at most n ADDED_LONGEST steps, whatever the tokens are.
 */
#ifndef MOUSSE_DATA_TOKENIZER_ADDED_TOKENS_H
#define MOUSSE_DATA_TOKENIZER_ADDED_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ADDED_LONGEST = 256 };

typedef struct added_token {
  const char *text; /* borrowed */
  size_t length;    /* 1 to ADDED_LONGEST */
  uint32_t id;
} added_token;

/* Zeroed is empty. */
typedef struct added_tokens {
  added_token *sorted; /* by their bytes */
  size_t count, capacity;
  uint32_t
      first[256 + 1]; /* from where on in `sorted` tokens begin with a byte, or a later one */
} added_tokens;

/* All tokens are added, each text once, and then sorted; false: no memory. */
bool added_tokens_add(added_tokens *tokens, added_token token);
void added_tokens_sort(added_tokens *tokens);
void added_tokens_close(added_tokens *tokens);

/* The first token from *at on, and its place; NULL: there is none, and *at is length. */
const added_token *added_tokens_find(const added_tokens *tokens, const char *text,
                                     size_t length, size_t *at);

/* Does one of them stand where it has bytes on both sides of a place? */
bool added_tokens_cross(const added_tokens *tokens, const char *text, size_t length, size_t at);

/* Is this text one of them? */
bool added_tokens_have(const added_tokens *tokens, const char *text, size_t length);

#endif
