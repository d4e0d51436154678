/* step_inputs.h - what an optimizer asks for beside the gradient (mousse_algorithm_input), as a run
 * provides it:
 *
 *     input_covariance,    of hidden matrices, by covariance_tokens tokens of the step's first
 *     output_covariance    micro-batch (gpt.h): rank 0 computes them, and all get them, so that
 *                          their bits do not depend on the ranks
 *     previous_gradient    that of the same batch at the weights before the last step: a second
 *                          forward and backward pass in every step, and those weights in memory
 *                          and in checkpoints
 *
 *     for each step   step_inputs_previous (around own passes)   gradient   step_inputs_share
 *                     step_inputs_remember   mousse_step
 */
#ifndef MOUSSE_TRAIN_STEP_INPUTS_H
#define MOUSSE_TRAIN_STEP_INPUTS_H

#include "train/average.h"
#include "train/groups.h"

typedef struct step_inputs {
  gpt_params *params; /* borrowed, as is comm */
  const mousse_comm *comm;
  gpt_covariances *covariances; /* owned; NULL: not asked for */
  weight_average previous; /* the weights before the last step; values NULL: not asked for */
  float *other;            /* owned: the gradient there */
} step_inputs;

/* What the algorithms of a run ask for. */
typedef struct step_demand {
  bool input_covariance, output_covariance, previous_gradient;
} step_demand;
/* Refused: inputs that are not in the list above, and covariances of other tensors than the hidden
 * matrices. */
mousse_status step_demand_find(const train_options *run, step_demand *demand, mo_error *error);
size_t step_inputs_bytes(const step_demand *demand, const gpt_params *params);

/* Makes what is asked for and binds it to the optimizer. */
mousse_status step_inputs_open(step_inputs *inputs, const train_options *run,
                               const train_groups *groups, gpt_params *params,
                               const mousse_comm *comm, mo_error *error);
void step_inputs_close(step_inputs *inputs); /* accepts a zeroed or closed one */

/* The covariances to sample with this micro-batch of the batch; NULL: none. */
gpt_covariances *step_inputs_sampled(const step_inputs *inputs, size_t micro);

/* [collective] The first rank's covariances, to all. */
mousse_status step_inputs_share(step_inputs *inputs, mo_error *error);

/* The gradient that was computed at the previous weights is taken over, and multiplied as the
 * step's own gradient is when it is clipped. */
void step_inputs_take(step_inputs *inputs);
void step_inputs_scale(step_inputs *inputs, double factor);
/* The weights as they are now are those before the step that follows. */
void step_inputs_remember(step_inputs *inputs);

#endif
