/* parallel.c - work over threads, by OpenMP. */
#include "base/parallel.h"

#include "base/arithmetic.h"
#include "base/recorder.h"

#include <omp.h>

int mo_threads_available(void)
{
  const int threads = omp_get_max_threads();
  return threads > 0 ? threads : 1;
}

void mo_threads_limit(int threads)
{
  omp_set_num_threads(threads);
}

static void run_loop(int threads, size_t count, mo_body body, void *context)
{
  if (threads <= 1 || count <= 1) {
    for (size_t item = 0; item < count; item++) body(context, item, 0);
    return;
  }
#pragma omp parallel num_threads(threads)
  {
    MO_OWN_ARITHMETIC;
#pragma omp for schedule(dynamic, 1)
    for (size_t item = 0; item < count; item++) body(context, item, omp_get_thread_num());
  }
}

void mo_parallel_at(const char *file, const char *name, int threads, size_t count, mo_body body,
                    void *context)
{
  if (mo_recording_on()) {
    const mo_task task = {.count = count, .body = body, .context = context};
    mo_record_tasks(file, name, &task, 1, false, false);
    return;
  }
  run_loop(threads, count, body, context);
}

typedef struct task_list {
  const mo_task *tasks;
} task_list;

static void run_job_item(void *context, size_t item, int thread)
{
  const mo_task *task = ((const task_list *)context)->tasks;
  while (item >= task->count) {
    item -= task->count;
    task++;
  }
  task->body(task->context, item, thread);
}

void mo_parallel_tasks_at(const char *file, const char *name, int threads, const mo_task *tasks,
                          size_t task_count)
{
  size_t count = 0;
  if (mo_recording_on()) {
    mo_record_tasks(file, name, tasks, task_count, false, false);
    return;
  }
  for (size_t i = 0; i < task_count; i++) count += tasks[i].count;
  task_list list = {tasks};
  run_loop(threads, count, run_job_item, &list);
}
