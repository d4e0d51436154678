/* test_gemm_grid.c - products on a grid of tiles: right, and the same bits on any threads. */
#include "base/random.h"
#include "check.h"
#include "linalg/gemm_grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static float *random_matrix(size_t count, uint64_t seed)
{
  float *values = malloc(count * sizeof *values);
  assert_non_null(values);
  mo_random_fill(values, count, 1.0, seed, 0);
  return values;
}

static double element(const float *a, size_t stride, mo_transpose transpose, size_t i, size_t j)
{
  return transpose == MO_PLAIN ? a[i * stride + j] : a[j * stride + i];
}

static void check_product(const mo_product *p, const float *before)
{
  for (size_t i = 0; i < p->rows; i++) {
    for (size_t j = 0; j < p->cols; j++) {
      double sum = 0;
      for (size_t k = 0; k < p->inner; k++)
        sum += element(p->a, p->a_stride, p->transpose_a, i, k) *
               element(p->b, p->b_stride, p->transpose_b, k, j);
      const size_t at = i * p->c_stride + j;
      const double expected = p->alpha * sum + p->beta * (double)before[at];
      assert_true(fabs(p->c[at] - expected) < 1e-3);
    }
  }
}

static void run_case(mo_transpose ta, mo_transpose tb, size_t m, size_t n, size_t k)
{
  float *a = random_matrix(m * k, 1), *b = random_matrix(k * n, 2);
  float *before = random_matrix(m * n, 3), *first = random_matrix(m * n, 3);
  mo_product p = mo_dense_product(ta, tb, m, n, k, a, b, 2.0f, first);
  p.alpha = 0.5f;
  mo_task job = mo_product_plan(&p);
  mo_parallel_tasks(1, &job, 1);
  check_product(&p, before);
  for (int threads = 2; threads <= 4; threads++) {
    float *c = random_matrix(m * n, 3);
    p.c = c;
    mo_parallel_tasks(threads, &job, 1);
    assert_memory_equal(c, first, m * n * sizeof *c);
    free(c);
  }
  free(a);
  free(b);
  free(before);
  free(first);
}

static void test_products(void **state)
{
  (void)state;
  mo_blas_enter();
  run_case(MO_PLAIN, MO_PLAIN, 1, 1, 1);
  run_case(MO_PLAIN, MO_TRANSPOSED, 131, 300, 17);
  run_case(MO_TRANSPOSED, MO_PLAIN, 300, 257, 9);
  run_case(MO_TRANSPOSED, MO_TRANSPOSED, 50, 1000, 3);
  run_case(MO_PLAIN, MO_PLAIN, 1000, 40, 5);
  mo_blas_leave();
}

/* A product of 36 or 42 large tiles with its end cut off, against one call of the BLAS. */
static void run_with_end(mo_transpose ta, mo_transpose tb, size_t m, size_t n)
{
  enum { INNER = 700 };
  float *a = random_matrix(m * INNER, 1), *b = random_matrix(n * INNER, 2);
  float *found = random_matrix(m * n, 3), *expected = random_matrix(m * n, 3);
  mo_product p = mo_dense_product(ta, tb, m, n, INNER, a, b, 1.0f, found);
  mo_gemm(ta, tb, m, n, INNER, 1.0f, a, p.a_stride, b, p.b_stride, 1.0f, expected, n);
  p.tile_rows = p.tile_cols = 384;
  mo_product end = mo_product_cut_end(&p);
  const mo_task tasks[] = {mo_product_plan(&p), mo_product_plan(&end)};
  assert_true(end.rows < m ? end.rows > 0 && p.cols == n : end.cols > 0 && end.cols < n);
  assert_true(p.rows * p.cols + end.rows * end.cols == m * n);
  assert_true(end.tile_rows * end.tile_cols == 384 * 96);
  mo_parallel_tasks(2, tasks, 2);
  for (size_t i = 0; i < m * n; i++) assert_true(fabsf(found[i] - expected[i]) < 1e-2f);
  free(a);
  free(b);
  free(found);
  free(expected);
}

static void test_the_end_of_a_large_product_is_finer(void **state)
{
  (void)state;
  mo_blas_enter();
  run_with_end(MO_PLAIN, MO_TRANSPOSED, 2304, 2300);
  run_with_end(MO_TRANSPOSED, MO_PLAIN, 2600, 2304);
  run_with_end(MO_PLAIN, MO_PLAIN, 2304, 2700);
  mo_blas_leave();
  mo_product small = mo_dense_product(MO_PLAIN, MO_PLAIN, 512, 512, 512, NULL, NULL, 0, NULL);
  const mo_product none = mo_product_cut_end(&small);
  assert_int_equal(none.rows, 0);
  assert_int_equal(small.rows, 512);
}

static void test_tiles_have_a_limit(void **state)
{
  (void)state;
  mo_product p = mo_dense_product(MO_PLAIN, MO_PLAIN, 2304, 768, 8192, NULL, NULL, 0, NULL);
  const size_t usual = mo_product_plan(&p).count;
  p.tile_rows = p.tile_cols = 0;
  p.longest = 1.3e9;
  assert_true(mo_product_plan(&p).count > usual);
  assert_true(2.0 * (double)(p.tile_rows * p.tile_cols * p.inner) <= 1.3e9);
}

static void count_item(void *context, size_t item, int thread)
{
  (void)thread;
  ((int *)context)[item]++;
}

static void test_jobs_run_every_item_once(void **state)
{
  (void)state;
  int counts[3][7] = {{0}};
  const mo_task jobs[] = {{0, count_item, NULL, NULL},
                          {7, count_item, counts[0], NULL},
                          {0, count_item, NULL, NULL},
                          {1, count_item, counts[1], NULL},
                          {5, count_item, counts[2], NULL}};
  mo_parallel_tasks(3, jobs, sizeof jobs / sizeof *jobs);
  for (size_t i = 0; i < 7; i++) {
    assert_int_equal(counts[0][i], 1);
    assert_int_equal(counts[1][i], i < 1);
    assert_int_equal(counts[2][i], i < 5);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_products),
      cmocka_unit_test(test_the_end_of_a_large_product_is_finer),
      cmocka_unit_test(test_tiles_have_a_limit),
      cmocka_unit_test(test_jobs_run_every_item_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
