/* bench.h - what this machine does with the model and the optimizers, measured in one run.
 *
 * Machines are shared and noisy, so what counts are ratios: of the model to the rate of a large
 * matrix product, of each optimizer to plain Muon, of a step with Mousse to one with Muon. The
 * two sides of a ratio are measured in turns, and each is a median. docs/benchmarks.md says how
 * to read them.
 */
#ifndef MOUSSE_BENCH_BENCH_H
#define MOUSSE_BENCH_BENCH_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum {
  BENCH_MODELS = 3,
  BENCH_MOST_OPTIMIZERS = 64,
  BENCH_TOKEN_COUNTS = 4,
  BENCH_MOST_THREAD_COUNTS = 12,
  BENCH_OPTIONS_TEXT = 96,  /* an optimizer with its options, and the end */
  BENCH_REFRESH_EVERY = 10, /* steps that a refresh is spread over, the optimizers' default */
};

typedef struct bench_options {
  bool quick;    /* fewer repetitions and matrices */
  int threads;   /* at least 1 */
  size_t layers; /* of the 162M model whose matrices are measured; 0: as quick says */
  /* "name,name:option=value:...": these optimizers, and nothing else, are measured. NULL: models,
   * threads and all optimizers, or when quick the common ones. */
  const char *optimizers;
  /* Told after every measurement, in GFLOP; total, an estimate, does not change. May be NULL. */
  void (*progress)(void *user, const char *what, double done, double total);
  void *user;
} bench_options;

typedef struct bench_model_result {
  const char *name;
  double tokens_per_s;
  double utilisation; /* of the sgemm rate, 0 to 1 */
} bench_model_result;

typedef struct bench_optimizer_result {
  const char *name, *sides;         /* sides: both, small, none */
  char options[BENCH_OPTIONS_TEXT]; /* others that are not as they come, "name=value:..." */
  double ratio;                     /* time to plain Muon's, refresh spread over its period */
  double ratio_between;             /* the same for steps without a refresh */
  double worst_step_to_mean;        /* over a period with staggered refreshes, of a long run */
  size_t state_bytes;               /* for all matrices of the 162M model */
  double seconds_per_step;          /* for all of them, refresh spread over its period */
} bench_optimizer_result;

typedef struct bench_report {
  int threads;
  size_t layers;       /* measured, of the 162M model's 12 */
  double sgemm_gflops; /* 3072^3, all threads */
  bench_model_result models[BENCH_MODELS];
  size_t model_count; /* 0 where only optimizers were asked for, like scaling_count */
  bench_optimizer_result optimizers[BENCH_MOST_OPTIMIZERS];
  size_t optimizer_count;
  struct {
    double tokens, mousse_to_muon;
  } whole_step[BENCH_TOKEN_COUNTS]; /* computed: tokens / (tokens/s) + optimizer's seconds */
  struct {
    int threads;
    double speedup; /* of a training step over one thread */
  } scaling[BENCH_MOST_THREAD_COUNTS];
  size_t scaling_count;
} bench_report;

mousse_status bench_run(const bench_options *options, bench_report *report, mo_error *error);

/* The parts, for programs that take turns with other programs. */

/* GFLOP/s of a 3072^3 product: the best of a fixed grid of single-threaded products, of one
 * slice per thread and, when `threads` is all there are, of the BLAS's own threads. 0: no
 * memory. */
double bench_sgemm_gflops(int threads);

double bench_median(double *seconds, size_t count); /* sorts them */

#endif
