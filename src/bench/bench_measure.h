/* bench_measure.h - how many measurements there are, and who is told of each. */
#ifndef MOUSSE_BENCH_BENCH_MEASURE_H
#define MOUSSE_BENCH_BENCH_MEASURE_H

#include "bench/bench.h"

typedef struct bench_measure {
  const bench_options *options;
  bench_report *report;
  size_t done, total;
  mo_error *error;
} bench_measure;

void bench_tick(bench_measure *m, const char *what);

/* bench_optimizers.c */
size_t bench_optimizers_ticks(const bench_options *options);
mousse_status bench_optimizers(bench_measure *m);

#endif
