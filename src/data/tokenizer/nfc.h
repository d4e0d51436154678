/* nfc.h - Unicode's normal form C: a letter and its marks as one character where there is one.
 *
 *     decompose   every character into its parts, again and again
 *     reorder     marks behind a character by their combining class, equal ones as they were
 *     compose     a character with the marks behind it, where a pair has a character
 *
 * Qwen's tokenizers ask for it. Tables: nfc_*.def, made by tools/unicode-nfc.
 */
#ifndef MOUSSE_DATA_TOKENIZER_NFC_H
#define MOUSSE_DATA_TOKENIZER_NFC_H

#include "base/buffer.h"

/* Is text in normal form for certain, as no character of it could change or move? */
bool nfc_is_certain(const char *text, size_t length);
/* The last place from least to most where text can be cut, so that both parts in normal form C are
 * the whole in it: no letter loses its marks. 0: there is none. */
size_t nfc_cut(const char *text, size_t length, size_t least, size_t most);

/* Appends the normal form of text; bytes that are not UTF-8 stay as they are and part what is
 * on both sides. False: no memory. */
bool nfc_add(mo_buffer *out, const char *text, size_t length);

#endif
