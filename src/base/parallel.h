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

/* Several kinds of work in one parallel loop: all items of tasks[0], then of tasks[1], ... One
 * loop instead of several saves the waiting at its end. List the tasks with the longest items
 * first. */
typedef struct mo_task {
  size_t count;
  mo_body body;
  void *context;
} mo_task;

void mo_parallel_tasks(int threads, const mo_task *tasks, size_t task_count);

/* How many threads the machine (and the affinity mask, and OMP_NUM_THREADS) gives us. */
int mo_threads_available(void);
/* Makes that less from now on, as for several processes that share a machine. */
void mo_threads_limit(int threads);

#endif
