/* test_linalg.c - the kernels of linalg/ against plain loops in double. */
#include "base/random.h"
#include "check.h"
#include "linalg/blas.h"
#include "linalg/cut.h"
#include "linalg/lapack.h"
#include "linalg/newton_schulz.h"
#include "linalg/orthonormal.h"
#include "linalg/vector.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static float *random_matrix(size_t rows, size_t cols, uint64_t seed)
{
  float *a = malloc(rows * cols * sizeof *a);
  assert_non_null(a);
  mo_random_fill(a, rows * cols, 1.0, seed, 0);
  return a;
}

/* c = a b, with either factor transposed. */
static double *product(size_t rows, size_t cols, size_t inner, const float *a, bool ta,
                       const float *b, bool tb)
{
  double *c = calloc(rows * cols, sizeof *c);
  assert_non_null(c);
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j++)
      for (size_t k = 0; k < inner; k++)
        c[i * cols + j] += (double)(ta ? a[k * rows + i] : a[i * inner + k]) *
                           (double)(tb ? b[j * inner + k] : b[k * cols + j]);
  return c;
}

static void assert_close(const float *found, const double *expected, size_t count, double limit)
{
  double error = 0, norm = 0;
  for (size_t i = 0; i < count; i++) {
    const double d = (double)found[i] - expected[i];
    error += d * d;
    norm += expected[i] * expected[i];
  }
  assert_true(sqrt(error) <= limit * sqrt(norm) + 1e-30);
}

static void test_gemm(void **state)
{
  (void)state;
  const size_t m = 37, n = 23, k = 51;
  for (int ta = 0; ta < 2; ta++) {
    for (int tb = 0; tb < 2; tb++) {
      float *a = random_matrix(m, k, 1), *b = random_matrix(k, n, 2),
            *c = random_matrix(m, n, 3);
      double *expected = product(m, n, k, a, ta, b, tb);
      c[0] = NAN; /* with beta = 0 it must not be read */
      mo_gemm(ta ? MO_TRANSPOSED : MO_PLAIN, tb ? MO_TRANSPOSED : MO_PLAIN, m, n, k, 1.0f, a,
              ta ? m : k, b, tb ? k : n, 0.0f, c, n);
      assert_close(c, expected, m * n, 1e-6);
      free(a), free(b), free(c), free(expected);
    }
  }
}

static void test_symmetric_products(void **state)
{
  (void)state;
  static const size_t sizes[] = {1, 2, 31, 33, 128, 129, 300};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    const size_t n = sizes[s], k = 19;
    float *a = random_matrix(n, k, s), *c = random_matrix(n, n, 9), *d = random_matrix(n, n, 8);
    double *expected = product(n, n, k, a, false, a, true);
    mo_syrk(MO_LOWER, MO_PLAIN, n, k, 1.0f, a, k, 0.0f, c, n);
    mo_mirror(n, c, n);
    assert_close(c, expected, n * n, 1e-6);
    free(expected);
    expected = product(n, n, n, c, false, c, false); /* c commutes with itself */
    mo_symmetric_product(MO_PLAIN, MO_PLAIN, n, n, c, n, c, n, d);
    assert_close(d, expected, n * n, 1e-6);
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < i; j++) assert_true(d[i * n + j] == d[j * n + i]);
    free(a), free(c), free(d), free(expected);
  }
}

static void test_one_triangle_is_enough(void **state)
{
  (void)state;
  static const size_t sizes[] = {1, 2, 31, 33, 70, 300};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    const size_t n = sizes[s];
    float *c = random_matrix(n, n, s), *whole = random_matrix(n, n, 1);
    float *x = random_matrix(n, 1, 2), *y = random_matrix(n, 1, 3);
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j <= i; j++) {
        whole[i * n + j] = whole[j * n + i] = c[j * n + i];
        if (j < i) c[i * n + j] = NAN;
      }
    mo_mirror_upper(n, c, n);
    assert_memory_equal(c, whole, n * n * sizeof *c);
    for (size_t i = 0; i < n; i++)
      for (size_t j = i + 1; j < n; j++) c[i * n + j] = NAN;
    double *expected = product(n, 1, n, whole, false, x, false);
    mo_symv(n, c, n, x, y);
    assert_close(y, expected, n, 1e-6);
    float *work = malloc(mo_symv_work_floats(n) * sizeof *work);
    mo_symv_in_bands(n, c, n, x, y, work);
    assert_close(y, expected, n, 1e-6);
    free(work);
    free(c), free(whole), free(x), free(y), free(expected);
  }
}

static void test_largest_sees_every_bad_number(void **state)
{
  (void)state;
  enum { COUNT = 67 };
  float x[COUNT];
  mo_random_fill(x, COUNT, 1.0, 1, 1);
  x[13] = -7.5f;
  assert_true(mo_largest(x, COUNT) == 7.5f);
  assert_true(mo_largest(x, 0) == 0.0f);
  static const float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
  for (size_t i = 0; i < COUNT; i++) {
    const float kept = x[i];
    for (size_t b = 0; b < 4; b++) {
      x[i] = bad[b];
      assert_true(mo_largest(x, COUNT) < 0.0f);
    }
    x[i] = FLT_MAX;
    assert_true(mo_largest(x, COUNT) == FLT_MAX);
    x[i] = kept;
  }
}

static void test_sums_do_not_overflow(void **state)
{
  (void)state;
  const float x[3] = {3e38f, -3e38f, 1e-38f};
  assert_true(fabs(mo_sum_squares(x, 3) / 1.8e77 - 1) < 1e-6);
  assert_true(fabs(mo_dot(x, x, 3) / 1.8e77 - 1) < 1e-6);
}

/* ||A - Q diag(values) Q^T|| and ||Q Q^T - I||, for rows of q as eigenvectors. */
static void assert_decomposition(size_t n, const double *a, const double *q,
                                 const double *values)
{
  double scale = 1e-300;
  for (size_t i = 0; i < n; i++) scale = fmax(scale, fabs(values[i]));
  for (size_t i = 0; i < n; i++) {
    assert_true(i == 0 || values[i - 1] <= values[i]);
    for (size_t j = 0; j <= i; j++) {
      double back = 0, dot = 0;
      for (size_t r = 0; r < n; r++) {
        back += values[r] * q[r * n + i] * q[r * n + j];
        dot += q[i * n + r] * q[j * n + r];
      }
      assert_true(fabs(back - a[i * n + j]) < 1e-11 * scale * (double)n);
      assert_true(fabs(dot - (i == j)) < 1e-11 * (double)n);
    }
  }
}

static void check_eigh(mo_eigh_solver solver, size_t n, const double *a)
{
  double *q = calloc(n * n, sizeof *q), *values = calloc(n, sizeof *values);
  double *work = calloc(mo_eigh_work_doubles(n), sizeof *work);
  assert_true(q && values && work);
  memcpy(q, a, n * n * sizeof *q);
  for (size_t i = 0; i < n; i++)
    for (size_t j = i + 1; j < n; j++) q[i * n + j] = NAN; /* only the lower triangle counts */
  assert_true(solver(n, q, values, work));
  assert_decomposition(n, a, q, values);
  free(q), free(values), free(work);
}

static void test_eigh(void **state)
{
  (void)state;
  static const size_t sizes[] = {1, 2, 3, 17, 64, 97};
  static const mo_eigh_solver solvers[] = {mo_eigh_divide, mo_eigh_iterate};
  for (size_t s = 0; s < 6; s++) {
    const size_t n = sizes[s];
    double *a = calloc(n * n, sizeof *a);
    for (size_t k = 0; k < 2; k++) {
      memset(a, 0, n * n * sizeof *a);
      check_eigh(solvers[k], n, a); /* zero */
      for (size_t i = 0; i < n; i++) a[i * n + i] = 3.0;
      check_eigh(solvers[k], n, a); /* all equal */
      for (size_t i = 0; i < n * n; i++) a[i] = 1.0;
      check_eigh(solvers[k], n, a); /* rank 1 */
      for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
          a[i * n + j] = a[j * n + i] = mo_random_normal(s, 1, i * n + j);
      check_eigh(solvers[k], n, a);
    }
    free(a);
  }
}

static void test_lapack_refuses_what_is_not_finite(void **state)
{
  (void)state;
  enum { N = 8 };
  double a[N * N], values[N], *work = calloc(mo_eigh_work_doubles(N), sizeof *work);
  double *polar = calloc(mo_polar_work_doubles(N, N), sizeof *polar);
  float *qr = calloc(mo_orthonormal_work_floats(N), sizeof *qr), x[N * N];
  static const double bad[] = {NAN, INFINITY, -INFINITY};
  for (size_t b = 0; b < 3; b++) {
    for (size_t place = 0; place < N * N; place++) {
      for (size_t i = 0; i < N * N; i++) x[i] = (float)(a[i] = i == place ? bad[b] : 1.0);
      if (place % N <= place / N) { /* in the lower triangle */
        assert_false(mo_eigh_divide(N, a, values, work));
        assert_false(mo_eigh_iterate(N, a, values, work));
      }
      assert_false(mo_orthonormal_rows(N, x, qr));
      assert_false(mo_polar(N, N, x, polar));
    }
  }
  free(work), free(polar), free(qr);
}

static void check_orthonormal(size_t n, const float *q)
{
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++)
      assert_true(fabs(mo_dot(q + i * n, q + j * n, n) - (i == j)) < 1e-5);
}

/* From 32,767 rows on, the workspace has more floats than LAPACK's integers can count: refused
 * before anything is touched. */
static void test_lapack_refuses_what_it_cannot_count(void **state)
{
  (void)state;
  assert_false(mo_eigh_divide(32767, NULL, NULL, NULL));
  assert_false(mo_polar(32767, 32767, NULL, NULL));
}

/* Row i is made of rows 0 to i: it is orthogonal to the later ones of the basis. */
static void check_order(size_t n, const float *a, const float *q)
{
  for (size_t i = 0; i < n; i++) {
    const double length = sqrt(mo_sum_squares(a + i * n, n));
    for (size_t j = i + 1; j < n; j++)
      assert_true(fabs(mo_dot(a + i * n, q + j * n, n)) < 1e-5 * length);
  }
}

/* Sizes around those of leaves and panels; rows far below and above 1. */
static void test_orthonormal_rows(void **state)
{
  (void)state;
  static const size_t sizes[] = {1, 2, 8, 9, 45, 96, 97, 200};
  static const float scales[] = {1.0f, 1e-30f, 1e30f};
  for (size_t s = 0; s < 8; s++) {
    const size_t n = sizes[s];
    float *a = random_matrix(n, n, s), *q = malloc(n * n * sizeof *q);
    float *work = calloc(mo_orthonormal_work_floats(n), sizeof *work);
    mo_scale(a, n * n, scales[s % 3]);
    memcpy(q, a, n * n * sizeof *q);
    assert_true(mo_orthonormal_rows(n, q, work));
    check_orthonormal(n, q);
    check_order(n, a, q);
    free(a), free(q), free(work);
  }
}

/* Rows that are nearly unit vectors, of either sign, as a basis that hardly moves has them: there a
 * reflection to the near side would divide by the difference of equal numbers. */
static void test_orthonormal_rows_near_the_identity(void **state)
{
  (void)state;
  static const float distances[] = {1e-2f, 1e-5f, 1e-8f, 1e-12f};
  const size_t n = 40;
  float *work = calloc(mo_orthonormal_work_floats(n), sizeof *work);
  for (size_t d = 0; d < 4; d++) {
    float *a = random_matrix(n, n, d), *q = malloc(n * n * sizeof *q);
    mo_scale(a, n * n, distances[d]);
    for (size_t i = 0; i < n; i++) a[i * n + i] += i % 3 == 0 ? -1.0f : 1.0f;
    memcpy(q, a, n * n * sizeof *q);
    assert_true(mo_orthonormal_rows(n, q, work));
    check_orthonormal(n, q);
    check_order(n, a, q);
    free(a), free(q);
  }
  free(work);
}

static void test_orthonormal_rows_of_dependent_ones(void **state)
{
  (void)state;
  const size_t n = 100;
  float *a = random_matrix(n, n, 4);
  float *work = calloc(mo_orthonormal_work_floats(n), sizeof *work);
  for (size_t i = 10; i < n; i++) memcpy(a + i * n, a + (i % 10) * n, n * sizeof *a);
  assert_true(mo_orthonormal_rows(n, a, work));
  check_orthonormal(n, a);
  memset(a, 0, n * n * sizeof *a);
  assert_true(mo_orthonormal_rows(n, a, work)); /* even of nothing */
  check_orthonormal(n, a);
  free(a), free(work);
}

static void test_polar_factor(void **state)
{
  (void)state;
  static const size_t shapes[][2] = {{12, 12}, {7, 19}, {19, 7}, {1, 5}};
  for (size_t s = 0; s < 4; s++) {
    const size_t m = shapes[s][0], n = shapes[s][1], k = m < n ? m : n;
    float *x = random_matrix(m, n, s), *u = malloc(m * n * sizeof *u);
    double *work = calloc(mo_polar_work_doubles(m, n), sizeof *work);
    memcpy(u, x, m * n * sizeof *u);
    assert_true(mo_polar(m, n, u, work));
    double *gram =
        m <= n ? product(m, m, n, u, false, u, true) : product(n, n, m, u, true, u, false);
    for (size_t i = 0; i < k; i++)
      for (size_t j = 0; j < k; j++) assert_true(fabs(gram[i * k + j] - (i == j)) < 1e-5);
    /* x = u h with h symmetric: u^T x is symmetric. */
    double *h = product(n, n, m, u, true, x, false);
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < i; j++) assert_true(fabs(h[i * n + j] - h[j * n + i]) < 1e-4);
    memset(u, 0, m * n * sizeof *u);
    assert_true(mo_polar(m, n, u, work));
    for (size_t i = 0; i < m * n; i++) assert_true(u[i] == 0.0f);
    free(x), free(u), free(work), free(gram), free(h);
  }
}

static void normalise(mo_newton_schulz_set set, float *x, size_t count)
{
  const double norm = sqrt(mo_sum_squares(x, count));
  mo_scale(x, count, (float)(1.0 / mo_newton_schulz_norm(set, norm, 1e-7)));
}

static void test_eigenvalues_alone(void **state)
{
  (void)state;
  enum { N = 40 };
  float *x = random_matrix(N, N, 3), a[N * N], values[N];
  float *work = malloc(mo_eigenvalues_work_floats(N) * sizeof *work);
  mo_syrk(MO_LOWER, MO_PLAIN, N, N, 1.0f, x, N, 0.0f, a, N);
  const double trace = mo_trace(a, N);
  assert_true(mo_eigenvalues(N, a, values, work));
  double sum = 0;
  for (size_t i = 0; i < N; i++) {
    assert_true(i == 0 || values[i - 1] <= values[i]);
    sum += (double)values[i];
  }
  assert_true(fabs(sum / trace - 1) < 1e-5);
  free(x), free(work);
}

static void test_newton_schulz_forms_agree(void **state)
{
  (void)state;
  static const size_t shapes[][2] = {{20, 20}, {16, 48}, {48, 16}};
  for (int set = MO_YOU5; set < MO_NEWTON_SCHULZ_SETS; set++) {
    if (set == MO_EXACT) continue;
    for (size_t s = 0; s < 3; s++) {
      const size_t m = shapes[s][0], n = shapes[s][1], k = m < n ? m : n;
      float *x = random_matrix(m, n, s), *spare = random_matrix(m, n, 1);
      float *gram = random_matrix(k, k, 1), *factor = random_matrix(k, k, 1);
      float *a = random_matrix(k, k, 1), *b = random_matrix(k, k, 1);
      normalise((mo_newton_schulz_set)set, x, m * n);
      mo_syrk(MO_LOWER, m <= n ? MO_PLAIN : MO_TRANSPOSED, k, m <= n ? n : m, 1.0f, x, n, 0.0f,
              gram, k);
      mo_mirror(k, gram, k);
      mo_gram_arrays arrays = {gram, factor, a, b};
      const double norm = mo_newton_schulz_gram((mo_newton_schulz_set)set, k, &arrays, true);
      const float *p = arrays.polynomial;
      double *expected =
          m <= n ? product(m, n, m, p, false, x, false) : product(m, n, n, x, false, p, false);
      const float *plain = mo_newton_schulz((mo_newton_schulz_set)set, false, m, n, x, spare,
                                            arrays.a, arrays.b);
      /* An inverse in the Gram form has the square of the condition number against it. */
      const double limit = set == MO_EXACT12 ? 1e-3 : 1e-4;
      assert_close(plain, expected, m * n, limit);
      assert_true(fabs(sqrt(mo_sum_squares(plain, m * n)) / norm - 1) < limit);
      assert_true(fabs(norm / sqrt((double)k) - 1) < 0.25); /* singular values near 1 */
      free(x), free(spare), free(gram), free(factor), free(a), free(b), free(expected);
    }
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gemm),
      cmocka_unit_test(test_symmetric_products),
      cmocka_unit_test(test_one_triangle_is_enough),
      cmocka_unit_test(test_largest_sees_every_bad_number),
      cmocka_unit_test(test_sums_do_not_overflow),
      cmocka_unit_test(test_eigh),
      cmocka_unit_test(test_lapack_refuses_what_is_not_finite),
      cmocka_unit_test(test_lapack_refuses_what_it_cannot_count),
      cmocka_unit_test(test_orthonormal_rows),
      cmocka_unit_test(test_orthonormal_rows_near_the_identity),
      cmocka_unit_test(test_orthonormal_rows_of_dependent_ones),
      cmocka_unit_test(test_polar_factor),
      cmocka_unit_test(test_eigenvalues_alone),
      cmocka_unit_test(test_newton_schulz_forms_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
