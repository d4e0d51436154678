/* utf8.h - which bytes are UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing above
 * U+10FFFF). */
#ifndef MOUSSE_BASE_UTF8_H
#define MOUSSE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How long the sequence at the start of text is; 0 when it is not one. */
size_t mo_utf8_sequence(const char *text, size_t length);

/* The longest prefix of text that is UTF-8. */
size_t mo_utf8_prefix(const char *text, size_t length);

/* The first sequence of text as a character; text starts with one. */
uint32_t mo_utf8_character(const char *text);

/* Writes a character as its sequence, at most 4 bytes; returns how many. */
size_t mo_utf8_put(uint32_t character, char *bytes);

/* Is this a byte inside a sequence, so that text must not be cut before it? */
bool mo_utf8_continues(char byte);

/* Bytes that are not UTF-8 become '?', in place. */
void mo_utf8_repair(char *text, size_t length);

/* Counts bytes that are not UTF-8 in text that comes in parts; zeroed at the start. */
typedef struct mo_utf8_count {
  uint64_t bytes, bad; /* so far; the bytes held back are in neither */
  uint64_t first_bad;  /* its offset, when bad > 0 */
  char held[4];        /* the start of a sequence whose rest is in the next part */
  size_t held_count;
} mo_utf8_count;

void mo_utf8_count_add(mo_utf8_count *count, const char *text, size_t length);
void mo_utf8_count_finish(mo_utf8_count *count);

#endif
