/* parallel.h - the one way work is spread over threads.
 *
 * The caller cuts the work into items whose number and borders do not depend on the number of
 * threads, and each item writes only what is its own. Then any thread may take any item and
 * the result has the same bits for 1, 2 or 64 threads.
 */
#ifndef MOUSSE_BASE_PARALLEL_H
#define MOUSSE_BASE_PARALLEL_H

#include <stddef.h>

/* thread is in [0, threads): an index into per-thread scratch. */
typedef void (*mo_body)(void *context, size_t item, int thread);

/* Runs body for every item in [0, count), handing out low items first. */
void mo_parallel(int threads, size_t count, mo_body body, void *context);

/* Several kinds of work in one parallel loop: all items of jobs[0], then of jobs[1], ... One
 * loop instead of several saves the waiting at its end. List the jobs with the longest items
 * first. */
typedef struct mo_job {
  size_t count;
  mo_body body;
  void *context;
} mo_job;

void mo_parallel_jobs(int threads, const mo_job *jobs, size_t job_count);

/* How many threads the machine (and the affinity mask, and OMP_NUM_THREADS) gives us. */
int mo_threads_available(void);
/* Makes that less from now on, as for several processes that share a machine. */
void mo_threads_limit(int threads);

/* A function compiled several times, for plain x86-64, AVX2+FMA and AVX-512, and picked when
 * the program starts: one binary is fast everywhere. For hot loops on floats. The levels are
 * chosen by what the processor can do; a model name (arch=haswell) would match Intel's only. */
#if defined(__x86_64__) && !defined(MO_NO_CLONES) && defined(__GNUC__) && !defined(__clang__)
#define MO_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define MO_CLONES
#endif

#endif
