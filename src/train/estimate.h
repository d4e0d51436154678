/* estimate.h - what a run will need, before it is started: memory, time, and which tensor gets
 * what. Nothing of the model's full size is allocated. */
#ifndef MOUSSE_TRAIN_ESTIMATE_H
#define MOUSSE_TRAIN_ESTIMATE_H

#include "train/groups.h"

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
  estimate_tensor *tensors; /* owned, in the model's order */
  size_t tensor_count, parameters;
  size_t model_bytes;     /* weights, gradients, activations */
  size_t optimizer_bytes; /* state and working memory */
  double flops_per_step;  /* forward and backward */
} train_estimate;

/* The model of a run whose data need not be there yet. */
mousse_status estimate_model(const train_options *run, const run_notices *notices,
                             gpt_config *config, mo_error *error);

mousse_status estimate_open(train_estimate *estimate, const train_options *run,
                            const gpt_config *config, const run_notices *notices,
                            mo_error *error);
void estimate_close(train_estimate *estimate);

/* Operations per second of a matrix product on this machine, measured for a moment; 0: no
 * memory to measure. */
double estimate_speed(int threads);

#endif
