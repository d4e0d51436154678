/* alphabet.h - bytes as printable characters, the way GPT-2's vocabulary files spell them.
 *
 * A byte that is a printable Latin-1 character (33..126, 161..172, 174..255)
 * stands for itself; the other 68 bytes, in order, are the characters U+0100 .. U+0143. So a
 * space is U+0120 and every token is text without spaces.
 */
#ifndef MOUSSE_DATA_TOKENIZER_ALPHABET_H
#define MOUSSE_DATA_TOKENIZER_ALPHABET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The character that stands for a byte. */
uint32_t alphabet_character(unsigned char byte);

/* Spells bytes in the alphabet: at most 2 * length bytes of UTF-8; returns how many. */
size_t alphabet_spell(const char *bytes, size_t length, char *spelled);

/* The bytes that a spelling stands for (never more than its length); false when it has a
 * character that is not in the alphabet. */
bool alphabet_read(const char *spelled, size_t length, char *bytes, size_t *count);

/* The k-th byte in the order in which GPT-2's vocabulary numbers them, from 0. */
unsigned char alphabet_byte_at(unsigned k);

#endif
