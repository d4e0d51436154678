/* bpe_train.h - learns a byte-level BPE vocabulary from text.
 *
 * Text is split as GPT-2's is and equal words are counted together. The most frequent pair of
 * neighbouring tokens (of equals the one with the smallest ids) becomes a new token, until the
 * vocabulary has the wanted size: 256 bytes, the merges in order, and the end-of-text token as
 * the last id, as in GPT-2. The same text gives the same tokenizer.
 */
#ifndef MOUSSE_DATA_TOKENIZER_BPE_TRAIN_H
#define MOUSSE_DATA_TOKENIZER_BPE_TRAIN_H

#include "data/tokenizer/tokenizer.h"

typedef struct bpe_trainer bpe_trainer;

enum { BPE_SMALLEST_VOCABULARY = 257, BPE_LARGEST_VOCABULARY = 1 << 20 };

mousse_status bpe_trainer_open(bpe_trainer **trainer, mo_error *error);
void bpe_trainer_close(bpe_trainer *trainer); /* accepts NULL */

/* Counts the words of a document or of a part of one. */
mousse_status bpe_trainer_add(bpe_trainer *trainer, const char *text, size_t length,
                              mo_error *error);

/* Where text is cut between two calls; see split_cut. */
size_t bpe_trainer_cut(bpe_trainer *trainer, const char *text, size_t length, size_t least,
                       size_t most);

/* Learns a tokenizer of this vocabulary, called once; fails when the text has too few words to
 * fill it. */
mousse_status bpe_trainer_finish(bpe_trainer *trainer, uint32_t vocabulary,
                                 mo_tokenizer *tokenizer, mo_error *error);

#endif
