/* bench_runner.h - one model on random tokens, with or without an optimizer. */
#ifndef MOUSSE_BENCH_BENCH_RUNNER_H
#define MOUSSE_BENCH_BENCH_RUNNER_H

#include "gpt/gpt.h"

typedef struct bench_runner {
  gpt_params *params;
  gpt_pass *pass;
  mousse_optimizer *optimizer; /* NULL: gradients alone are measured */
  uint32_t *tokens;            /* batch * sequence tokens, then as many targets */
  gpt_shape shape;
} bench_runner;

/* `optimizer` names the algorithm of the hidden matrices (the others have adamw); NULL: none.
 * After a failure, too, the runner is to be released. */
mousse_status bench_runner_create(bench_runner *runner, const gpt_config *config,
                                  const gpt_shape *shape, const char *optimizer,
                                  mo_error *error);
void bench_runner_release(bench_runner *runner);

/* Seconds of forward and backward on the first `sequence` tokens of each sequence, and of the
 * optimizer's step if there is one. */
mousse_status bench_runner_step(bench_runner *runner, size_t sequence, double *seconds,
                                mo_error *error);

/* The two halves: of the first `batch` sequences, and of the optimizer. */
mousse_status bench_runner_model(bench_runner *runner, size_t batch, size_t sequence,
                                 mo_error *error);
mousse_status bench_runner_optimizer(bench_runner *runner, mo_error *error);

/* Another optimizer in place of the one there is, if any, with refreshes every so many steps and
 * spread over them, as in training. */
mousse_status bench_runner_restart(bench_runner *runner, const char *optimizer,
                                   double refresh_every, mo_error *error);

#endif
