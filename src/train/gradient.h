/* gradient.h - one step's gradient: the mean over all micro-batches of the global batch. */
#ifndef MOUSSE_TRAIN_GRADIENT_H
#define MOUSSE_TRAIN_GRADIENT_H

#include "data/loader.h"
#include "gpt/gpt.h"

typedef struct train_gradient {
  const mo_loader *loader; /* borrowed, as are params and pass */
  gpt_params *params;
  gpt_pass *pass;
  size_t micro_batch, micro_count;
  double clip; /* largest norm; 0: any */
  int threads;
  uint32_t *tokens, *targets; /* owned: one micro-batch */
  double *squares;            /* owned: partial sums of the norm */
} train_gradient;

typedef struct gradient_result {
  double loss, norm; /* the norm is that before clipping */
  bool finite;       /* of loss and norm; when false nothing should be done with them */
} gradient_result;

/* Takes loader, params, pass, micro_batch, micro_count, clip and threads from *gradient. */
mousse_status gradient_open(train_gradient *gradient, mo_error *error);
void gradient_close(train_gradient *gradient); /* accepts a zeroed or closed one */

/* Fills the parameters' gradients from the batch of this step (from 0). */
mousse_status gradient_collect(train_gradient *gradient, uint64_t step, gradient_result *result,
                               mo_error *error);

#endif
