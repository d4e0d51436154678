/* resolve.h - every option as it takes effect: what a default, a preset or a recipe means is
 * written out, so that a saved run keeps its meaning when these change.
 *
 *     model_dim ... vocab_size            the model's
 *     device_batch_size, slices           as chosen from the batch
 *     lr and the paper's other names      the value that the optimizer has
 *     opt.NAME, scalar.NAME               every other option of both optimizers
 *     embed_lr_factor, head_lr_factor     as numbers
 *
 * Options that do not concern the optimizer stay as they were given.
 */
#ifndef MOUSSE_TRAIN_RESOLVE_H
#define MOUSSE_TRAIN_RESOLVE_H

#include "train/options.h"

/* Resolving twice changes nothing. config: the run's model (run_model.h). */
mousse_status options_resolve(train_options *run, const gpt_config *config, mo_error *error);

#endif
