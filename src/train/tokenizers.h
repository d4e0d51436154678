/* tokenizers.h - whether two tokenizers are the same: a loss, a prompt and weights mean nothing
 * with another one, whatever the sizes of their vocabularies. */
#ifndef MOUSSE_TRAIN_TOKENIZERS_H
#define MOUSSE_TRAIN_TOKENIZERS_H

#include "data/tokenizer/tokenizer.h"
#include "train/options.h"

/* Refuses when the tokenizer that lies beside a model's weights is another one; `what` names
 * where tokenizer comes from. A model without one, and allow, pass: the latter with a notice. */
mousse_status tokenizer_check(const mo_tokenizer *tokenizer, const char *what,
                              const char *model_folder, bool allow, const run_notices *notices,
                              mo_error *error);

/* How many bytes of text each of `count` ids stands for: 0 for special and unknown ones. Owned
 * by the caller, count entries; NULL: no memory. */
uint32_t *tokenizer_byte_lengths(const mo_tokenizer *tokenizer, size_t count);

/* Of so many nats of loss over text of so many bytes; NaN: the bytes are not known. */
double bits_per_byte(double nats, double bytes);

#endif
