/* parallel.c - work over threads, by OpenMP. */
#include "base/parallel.h"

#include <omp.h>

int mo_threads_available(void)
{
  const int threads = omp_get_max_threads();
  return threads > 0 ? threads : 1;
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
