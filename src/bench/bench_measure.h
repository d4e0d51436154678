/* bench_measure.h - how much there is to measure, and who is told of each measurement.
 *
 * Measurements take from milliseconds to minutes, so progress is counted in the operations that
 * they are estimated to take, not in their number: then the time left is near the truth.
 */
#ifndef MOUSSE_BENCH_BENCH_MEASURE_H
#define MOUSSE_BENCH_BENCH_MEASURE_H

#include "bench/bench_subjects.h"

typedef struct bench_measure {
  const bench_options *options;
  bench_report *report;
  bench_subject subjects[BENCH_MOST_OPTIMIZERS];
  size_t subject_count;
  double done, total; /* GFLOP */
  mo_error *error;
} bench_measure;

void bench_tick(bench_measure *m, const char *what, double gflop);

/* bench_sgemm.c: operations of bench_sgemm_gflops. */
double bench_sgemm_work(int threads);

/* bench_optimizers.c */
double bench_optimizers_work(const bench_measure *m);
mousse_status bench_optimizers(bench_measure *m);

#endif
