/* q8.h - a model's matrices in blocks of 8 bits (base/q8.h), a quarter of the memory to read for
 * a token. */
#ifndef MOUSSE_GPT_Q8_H
#define MOUSSE_GPT_Q8_H

#include "gpt/gpt.h"

typedef struct gpt_q8_matrix {
  const uint32_t *blocks; /* as linear_vector_q8 takes them; NULL: not in the copy */
  const float *scales;
} gpt_q8_matrix;

/* Where a tensor's copy begins. Those of tensors that lie back to back do so, too. q8 may be
 * NULL: no copy. */
gpt_q8_matrix gpt_q8_find(const gpt_q8 *q8, const gpt_tensor *tensor);

#endif
