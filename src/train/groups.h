/* groups.h - which tensor gets which optimizer, at which learning rate.
 *
 *     role              algorithm    learning rate                       decay
 *     hidden matrices   optimizer    lr                                  weight_decay
 *     embedding         scalar_opt   lr * embed_lr_factor [1; if it orthogonalises, 2 sqrt(width)]  0
 *     head              scalar_opt   lr * head_lr_factor [1/sqrt(width); if it orthogonalises, 1]   0
 *     gains, biases     scalar_opt   lr * embed_lr_factor; lr, by Lion, if that orthogonalises      0
 *
 * Frozen tensors (--freeze) have none. With optimizer adamw every tensor uses it, at lr, with
 * decay on the hidden matrices only. The role is the model's, never guessed from a shape or
 * name. --lr-factor multiplies the learning rates of the tensors that it names, the schedule
 * those of all.
 */
#ifndef MOUSSE_TRAIN_GROUPS_H
#define MOUSSE_TRAIN_GROUPS_H

#include "train/options.h"

enum { GROUP_COUNT = GPT_ROLES }; /* at most one per role, indexed by it */

typedef struct train_groups {
  mousse_optimizer *optimizer; /* owned */
  int count;                   /* of groups: a model without vectors has none for them */
  size_t width;                /* of the model */
  double lr[GROUP_COUNT];      /* before the schedule */
  double *factors;             /* owned: of each tensor's learning rate (lr_factors.h) */
  size_t tensor_count;
  run_notices notices; /* where the optimizer's own warnings go */
} train_groups;

/* Registers all tensors that are not frozen with an optimizer that is divided over the ranks of
 * comm (NULL: one process). Tensors, whose memory is not looked at, and comm stay borrowed until
 * close, and *groups must not move. */
mousse_status groups_plan(train_groups *groups, const train_options *run, gpt_params *params,
                          const mousse_comm *comm, const run_notices *notices, mo_error *error);
/* [collective] Prepares it. The outcome is that of all ranks and must not be agreed on again. */
mousse_status groups_prepare(const train_groups *groups, mo_error *error);
/* Both, in one process. */
mousse_status groups_open(train_groups *groups, const train_options *run, gpt_params *params,
                          const run_notices *notices, mo_error *error);
void groups_close(train_groups *groups); /* accepts a zeroed or closed one */

/* Every group's learning rate is factor times its own from now on. */
mousse_status groups_schedule(train_groups *groups, double factor, mo_error *error);
/* How far ahead the gradient after the step of this number (from 1) is taken; without that wrapper,
 * nothing. */
mousse_status groups_look_ahead(train_groups *groups, const train_options *run, uint64_t step,
                                mo_error *error);

bool groups_are_alike(const train_options *run); /* one algorithm for all tensors */
/* "muon, lion for embedding and head", or how else a person would say it. */
void groups_describe(const train_options *run, char *text, size_t size);
const char *groups_algorithm(const train_options *run, gpt_role role);
const char *groups_role_name(gpt_role role);
double groups_lr_factor(const train_options *run, gpt_role role, size_t width);

/* An error of the optimizer as ours. */
mousse_status groups_fail(const train_groups *groups, mousse_status status, mo_error *error);

#endif
