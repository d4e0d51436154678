/* rank_plan.h - what a run takes on R ranks of T threads, from the flops and bytes of one step.
 *
 *     compute    forward and backward of 1/R of the batch
 *     optimizer  the rank with most to do
 *     sum        2 (R-1)/R of the gradient sent by each rank; a message to every other rank
 *                twice for each piece of 16 MB
 *     share      (R-1)/R of the weights; a tree of messages for each tensor, and one more for
 *                each place where a rank's share begins inside a tensor
 *
 *     seconds = flops / rate for both + bytes / bandwidth + messages * latency
 *
 * Without overlap, as is the default. With it (--overlap) the sum goes on behind the backward pass of
 * the last micro-batch, two thirds of its time, and the share behind the updates, but for the last
 * of the n tensors of each rank:
 *
 *     seconds = compute + optimizer + max(sum - 2/3 compute / micro-batches, 0)
 *             + share - min(share, optimizer) (n - 1)/n
 *
 * What is given or measured makes a prediction of it: the rates of a matrix product, of forward and
 * backward and of the updates, and what the network moves.
 */
#ifndef MOUSSE_TRAIN_RANK_PLAN_H
#define MOUSSE_TRAIN_RANK_PLAN_H

#include "train/estimate.h"

#define PLAN_EFFICIENCY                                                                        \
  0.65 /* of layers and updates, against plain products: where nobody measured */

typedef struct plan_machine {
  double flops; /* per second and rank, of a matrix product */
  double model,
      optimizer;    /* parts of that: forward and backward, updates; 0: PLAN_EFFICIENCY */
  double bandwidth; /* bytes per second that a rank sends */
  double latency;   /* seconds of a message */
} plan_machine;

typedef struct rank_plan {
  int ranks;
  size_t model_bytes;     /* weights, gradients, activations, exchange: on every rank */
  size_t optimizer_bytes; /* on the rank that holds most */
  size_t state_bytes;     /* of these, what is kept between steps */
  size_t copy_bytes;      /* on rank 0: what checkpoints are written from; 0: no copy */
  double compute_flops, optimizer_flops; /* of a step, on the rank that does most */
  double sent_bytes;                     /* by a rank in a step */
  double messages;                       /* that a rank waits for, one after the other */
  double compute_seconds, optimizer_seconds, exchange_seconds;
  double hidden_seconds; /* of the exchange, with --overlap */
} rank_plan;

/* [collective] What the ranks' network does, measured for a moment: bandwidth and latency of
 * *machine. */
mousse_status rank_plan_measure(plan_machine *machine, const mousse_comm *comm,
                                mo_error *error);

/* [collective] model and optimizer of *machine, measured for some seconds on the run's own model, with
 * fewer layers if it is large, by all ranks at a time. */
mousse_status rank_plan_rates(plan_machine *machine, const train_options *run,
                              const gpt_config *config, const mousse_comm *comm,
                              mo_error *error);

/* The run on `ranks` ranks. Takes memory for lists only. */
mousse_status rank_plan_make(rank_plan *plan, const train_options *run,
                             const gpt_config *config, int ranks, const plan_machine *machine,
                             mo_error *error);

#endif
