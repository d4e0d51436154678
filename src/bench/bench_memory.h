/* bench_memory.h - what memory this machine's cores share, and who else is using it. */
#ifndef MOUSSE_BENCH_BENCH_MEMORY_H
#define MOUSSE_BENCH_BENCH_MEMORY_H

#include "base/error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

/* Bytes per second that so many threads read and write together, in arrays no cache holds; each
 * byte counts once for reading and once for writing. 0: no memory. */
double bench_stream_rate(int threads);

/* Threads that stream as fast as they can until they are stopped. */
enum { BENCH_MOST_STREAMERS = 64 };
typedef struct bench_streamers {
  pthread_t threads[BENCH_MOST_STREAMERS];
  int count; /* that run */
  atomic_bool stop;
} bench_streamers;
mousse_status bench_streamers_start(bench_streamers *s, int count, mo_error *error);
void bench_streamers_stop(bench_streamers *s);

/* Seconds to start a loop on so many threads and wait for its end. */
double bench_fork_seconds(int threads);

#endif
