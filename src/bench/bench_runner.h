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

#endif
