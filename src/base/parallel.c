/* parallel.c - work over threads, by OpenMP. */
#include "base/parallel.h"

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

void mo_parallel(int threads, size_t count, mo_body body, void *context)
{
  if (threads <= 1 || count <= 1) {
    for (size_t item = 0; item < count; item++) body(context, item, 0);
    return;
  }
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (size_t item = 0; item < count; item++) body(context, item, omp_get_thread_num());
}

typedef struct job_list {
  const mo_job *jobs;
} job_list;

static void run_job_item(void *context, size_t item, int thread)
{
  const mo_job *job = ((const job_list *)context)->jobs;
  while (item >= job->count) {
    item -= job->count;
    job++;
  }
  job->body(job->context, item, thread);
}

void mo_parallel_jobs(int threads, const mo_job *jobs, size_t job_count)
{
  size_t count = 0;
  for (size_t i = 0; i < job_count; i++) count += jobs[i].count;
  job_list list = {jobs};
  mo_parallel(threads, count, run_job_item, &list);
}
