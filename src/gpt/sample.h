/* sample.h - one token out of a row of logits. */
#ifndef MOUSSE_GPT_SAMPLE_H
#define MOUSSE_GPT_SAMPLE_H

#include "gpt/gpt.h"

typedef struct gpt_candidate {
  float weight; /* logit, then exp of it */
  uint32_t token;
} gpt_candidate;

mousse_status gpt_sampling_check(const gpt_sampling *sampling, mo_error *error);
/* uniform is in [0, 1); candidates is scratch for 2 * vocabulary of them. Equal logits count in
 * the order of the tokens. */
uint32_t gpt_sample(const float *logits, size_t vocabulary, const gpt_sampling *sampling,
                    double uniform, gpt_candidate *candidates);

#endif
