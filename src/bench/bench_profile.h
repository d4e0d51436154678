/* bench_profile.h - where the time of forward and backward goes, by kinds of work, each against its
 * own limit: products against the rate of a large product, the rest against the rate of memory, both
 * measured in the same run. */
#ifndef MOUSSE_BENCH_BENCH_PROFILE_H
#define MOUSSE_BENCH_BENCH_PROFILE_H

#include "bench/bench.h"

enum { BENCH_PROFILE_ROWS = 32 };

typedef struct bench_profile_row {
  const char *name;
  double share;    /* of the threads' time, 0 to 1 */
  double of_limit; /* work / time / limit; above 1 where memory's work is done in caches */
  bool product;    /* limited by products, otherwise by memory */
} bench_profile_row;

typedef struct bench_profile {
  const char *model;
  size_t batch, sequence;
  int threads;
  double seconds;     /* of a step */
  double utilisation; /* of the sgemm rate, as bench.h has it */
  double waiting;     /* share of time in which a thread had no work, or it was none of these */
  bench_profile_row rows[BENCH_PROFILE_ROWS];
  size_t row_count;
} bench_profile;

/* Profiles of the models of bench.h; quick: without the largest. */
typedef struct bench_profiles {
  double sgemm_gflops, memory_gigabytes; /* per second, on all threads */
  bench_profile models[BENCH_MODELS];
  size_t count;
} bench_profiles;

mousse_status bench_profiles_run(const bench_options *options, bench_profiles *profiles,
                                 mo_error *error);

/* GB per second that all threads read and write together, of arrays larger than the caches. 0: no
 * memory. */
double bench_memory_gigabytes(int threads);

#endif
