/* average.h - an exponential moving average of the weights, for evaluation:
 *
 *     a <- a + (1 - d) (w - a),   d = min(ema, (1 + t) / (10 + t)) after step t = 1, 2, ...
 *
 * so the first steps are forgotten soon. Every rank holds all of it and computes the same bits.
 *
 * With a wrapper around the optimizer, or an average of the tail alone, the optimizer keeps what is
 * evaluated (docs/optimizers.md), and this is a copy, refreshed when it is wanted.
 */
#ifndef MOUSSE_TRAIN_AVERAGE_H
#define MOUSSE_TRAIN_AVERAGE_H

#include "gpt/gpt.h"

typedef struct weight_average {
  gpt_params *params; /* borrowed */
  float *values;      /* owned; NULL: none is kept */
  double decay;
  int threads;
  mousse_optimizer *source; /* borrowed: who keeps them; NULL: they are computed here */
} weight_average;

/* Starts at the weights as they are. decay < 0: none is kept. */
mousse_status average_open(weight_average *average, gpt_params *params, double decay,
                           int threads, mo_error *error);
void average_close(weight_average *average); /* accepts a zeroed or closed one */

/* [collective] The weights to evaluate, from the optimizer that keeps them. */
mousse_status average_refresh(weight_average *average, mo_error *error);
void average_restart(weight_average *average); /* at the weights as they are now */
void average_update(weight_average *average, uint64_t step);
/* The average takes the weights' place, and they its; a second call undoes it. */
void average_swap(weight_average *average);

mousse_status average_load(weight_average *average, const char *path, mo_error *error);

#endif
