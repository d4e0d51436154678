/* estimate.h - what a run takes, from its options alone, on one rank or several. Nothing of the
 * model's size is allocated: the optimizer is planned, not prepared.
 *
 *     model      weights, gradients, activations, the weights' average; on several ranks the
 *                exchange
 *     gradient   sums of slices that wait for their neighbours (gradient.h)
 *     optimizer  state and working memory, of the rank that holds most
 *     copy       what checkpoints are written from while the run goes on, on rank 0
 */
#ifndef MOUSSE_TRAIN_ESTIMATE_H
#define MOUSSE_TRAIN_ESTIMATE_H

#include "train/groups.h"

enum { EXCHANGE_BYTES = 1 << 24 }; /* the pieces in which ranks take a sum */

/* One tensor of the model. */
typedef struct estimate_tensor {
  char name[64];
  size_t rows, cols;
  gpt_role role;
  const char *algorithm; /* owned by the run */
  double lr, weight_decay;
  size_t state_bytes;
} estimate_tensor;

typedef struct train_estimate {
  gpt_config config;
  int ranks;
  estimate_tensor *tensors; /* owned, in the model's order */
  size_t tensor_count, parameters;
  size_t trained;    /* parameters that have gradients */
  bool recompute;    /* activations are computed again, as asked or because memory is short: */
  size_t less_bytes; /* so much of model_bytes is not needed with it */
  bool copied;       /* checkpoints are written in the background: not asked for, or memory */
  size_t copy_bytes; /* is short, when they are not */
  size_t model_bytes, gradient_bytes; /* on every rank */
  size_t optimizer_bytes;             /* on the rank that holds most, */
  size_t state_bytes;                 /* and of these, what is kept between steps */
  double optimizer_flops;             /* of a step, on the rank that does most */
  double flops_per_step;              /* forward and backward, of the whole batch */
} train_estimate;

mousse_status estimate_open(train_estimate *estimate, const train_options *run,
                            const gpt_config *config, int ranks, const run_notices *notices,
                            mo_error *error);
void estimate_close(train_estimate *estimate);

/* All that a rank takes, as it runs here. */
size_t estimate_bytes(const train_estimate *estimate);

/* Operations per second of a matrix product on this machine, measured for a moment; 0: no
 * memory to measure. */
double estimate_speed(int threads);

#endif
