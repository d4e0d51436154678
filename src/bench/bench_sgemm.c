/* bench_sgemm.c - the rate that everything else is measured against. */
#include "base/clock.h"
#include "base/memory.h"
#include "bench/bench_measure.h"
#include "linalg/gemm_grid.h"

enum { SIZE = 3072 };

static double time_grid(mo_product product, int threads)
{
  mo_blas_enter();
  const double start = mo_seconds();
  const mo_task job = mo_product_plan(&product);
  mo_parallel_tasks(threads, &job, 1);
  const double seconds = mo_seconds() - start;
  mo_blas_leave();
  return seconds;
}

static double time_blas_threads(const mo_product *p)
{
  const double start = mo_seconds();
  mo_gemm(MO_PLAIN, MO_PLAIN, SIZE, SIZE, SIZE, 1.0f, p->a, SIZE, p->b, SIZE, 0.0f, p->c, SIZE);
  return mo_seconds() - start;
}

static double smaller(double a, double b)
{
  return a < b ? a : b;
}

double bench_sgemm_work(int threads)
{
  const double products = threads == mo_threads_available() ? 3 : 2;
  return products * 2.0 * SIZE * SIZE * SIZE * 1e-9;
}

double bench_sgemm_gflops(int threads)
{
  const size_t count = (size_t)SIZE * SIZE, bytes = 3 * count * sizeof(float);
  float *a = mo_allocate(NULL, bytes);
  if (a == NULL) return 0.0;
  for (size_t i = 0; i < 2 * count; i++) a[i] = (float)(i % 7) - 3.0f;
  const mo_product grid = {.rows = SIZE,
                           .cols = SIZE,
                           .inner = SIZE,
                           .alpha = 1.0f,
                           .a = a,
                           .b = a + count,
                           .c = a + 2 * count,
                           .a_stride = SIZE,
                           .b_stride = SIZE,
                           .c_stride = SIZE,
                           .by_blas = true};
  mo_product slices = grid;
  slices.tile_rows = (SIZE + (size_t)threads - 1) / (size_t)threads;
  slices.tile_cols = SIZE;
  double best = smaller(time_grid(grid, threads), time_grid(slices, threads));
  if (threads == mo_threads_available()) best = smaller(best, time_blas_threads(&grid));
  mo_release(NULL, a, bytes);
  return 2.0 * SIZE * SIZE * SIZE / best * 1e-9;
}
