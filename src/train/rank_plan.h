/* rank_plan.h - what a run takes on R ranks of T threads, from the flops and bytes of one step.
 *
 *     compute    forward and backward of 1/R of the batch, at 65% of a matrix product's speed
 *     optimizer  the rank with most to do, at 65%
 *     sum        2 (R-1)/R of the gradient sent by each rank; a message to every other rank
 *                twice for each piece of 16 MB
 *     share      (R-1)/R of the weights; a tree of messages for each tensor, and one more for
 *                each place where a rank's share begins inside a tensor
 *
 *     seconds = compute + optimizer + bytes / bandwidth + messages * latency
 *
 * Nothing overlaps, as in the program. Two measured numbers, or given ones, make a prediction
 * of it: the speed of a matrix product and what the network moves.
 */
#ifndef MOUSSE_TRAIN_RANK_PLAN_H
#define MOUSSE_TRAIN_RANK_PLAN_H

#include "train/estimate.h"

typedef struct plan_machine {
  double flops;     /* per second and rank, of a matrix product */
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
} rank_plan;

/* [collective] What the ranks' network does, measured for a moment: bandwidth and latency of
 * *machine. */
mousse_status rank_plan_measure(plan_machine *machine, const mousse_comm *comm,
                                mo_error *error);

/* The run on `ranks` ranks. Takes memory for lists only. */
mousse_status rank_plan_make(rank_plan *plan, const train_options *run,
                             const gpt_config *config, int ranks, const plan_machine *machine,
                             mo_error *error);

#endif
