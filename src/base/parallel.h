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

/* The name of this file, for recordings (recorder.h); without its folder where the compiler can
 * leave it out, for the same library in whatever folder it is built. */
#ifdef __FILE_NAME__
#define MO_FILE __FILE_NAME__
#else
#define MO_FILE __FILE__
#endif

/* Runs body for every item in [0, count), handing out low items first. */
#define mo_parallel(threads, count, body, context)                                             \
  mo_parallel_at(MO_FILE, #body, threads, count, body, context)

/* Several kinds of work in one parallel loop: all items of tasks[0], then of tasks[1], ... One
 * loop instead of several saves the waiting at its end. List the tasks with the longest items
 * first. */
typedef struct mo_task {
  size_t count;
  mo_body body;
  void *context;
  const char *name; /* for recordings (recorder.h); NULL: that of the loop */
} mo_task;

#define mo_parallel_tasks(threads, tasks, task_count)                                          \
  mo_parallel_tasks_at(MO_FILE, __func__, threads, tasks, task_count)

/* The same, with the place where the loop stands, for recordings. */
void mo_parallel_at(const char *file, const char *name, int threads, size_t count, mo_body body,
                    void *context);
void mo_parallel_tasks_at(const char *file, const char *name, int threads, const mo_task *tasks,
                          size_t task_count);

/* How many threads the machine (and the affinity mask, and OMP_NUM_THREADS) gives us. */
int mo_threads_available(void);
/* Makes that less from now on, as for several processes that share a machine. */
void mo_threads_limit(int threads);

#endif
