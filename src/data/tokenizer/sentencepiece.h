/* sentencepiece.h - BPE as SentencePiece has it (Llama 2, TinyLlama, Mistral).
 *
 *     spelling   a space is the character U+2581; most put one before a text, too
 *     start      a character is its token or, without one, its bytes' tokens <0x00> .. <0xFF>
 *     merges     as in byte-level BPE, but with nothing that cuts text into words before
 *     back       U+2581 is a space, <0xHH> a byte; the space before the text goes
 *
 * No token of these files has U+2581 behind another character. Then nothing merges across the
 * border before a space, and text can be merged word by word with the same result; of a file
 * where a token has, text is merged as a whole.
 */
#ifndef MOUSSE_DATA_TOKENIZER_SENTENCEPIECE_H
#define MOUSSE_DATA_TOKENIZER_SENTENCEPIECE_H

#include "data/tokenizer/tokenizer.h"

#define SENTENCEPIECE_SPACE "\xe2\x96\x81"

/* The byte that a token <0xHH> stands for; -1: it is another token. */
int sentencepiece_byte(const char *token, size_t length);

/* Finds the tokens of all bytes and what every token stands for; name is for messages. */
mousse_status sentencepiece_finish(mo_tokenizer *tokenizer, const char *name, mo_error *error);

/* Appends text as it is spelled; starts: it is the beginning of a document. False: no memory. */
bool sentencepiece_spell(const mo_tokenizer *tokenizer, const char *text, size_t length,
                         bool starts, mo_buffer *spelled);

/* Calls piece for every part of spelled text that is merged by itself. */
mousse_status sentencepiece_cut(const mo_tokenizer *tokenizer, const char *spelled,
                                size_t length, split_piece piece, void *user);

/* The first character or byte of spelled text: the tokens it starts as, one or a byte's each.
 * Returns how many, and its length. */
size_t sentencepiece_start(const mo_tokenizer *tokenizer, const char *spelled, size_t length,
                           uint32_t ids[4], size_t *step);

#endif
