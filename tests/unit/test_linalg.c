/* test_linalg.c - every kernel of linalg/ against plain loops in double, on ordinary,
 * degenerate and non-finite input. */
#include "base/random.h"
#include "check.h"
#include "linalg/blas.h"
#include "linalg/lapack.h"
#include "linalg/newton_schulz.h"
#include "linalg/vector.h"
#include "reference/dense.h"
#include "reference/reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float *floats(size_t count, uint64_t seed)
{
  float *x = malloc((count > 0 ? count : 1) * sizeof *x);
  assert_non_null(x);
  mo_random_fill(x, count, 1, seed, 0);
  return x;
}

static double *wide(const float *x, size_t count)
{
  double *y = ref_zeros(count);
  for (size_t i = 0; i < count; i++) y[i] = x[i];
  return y;
}

/* |found - expected| / |expected| */
static double relative_error(const float *found, const double *expected, size_t count)
{
  double wrong = 0;
  for (size_t i = 0; i < count; i++) wrong = hypot(wrong, (double)found[i] - expected[i]);
  return wrong / ref_norm(expected, count);
}

/* s += a a^T (a is n x k) in the lower triangle only; the upper one must stay as it is. */
static void check_syrk(size_t n, size_t k, mo_transpose transposed)
{
  float *a = floats(n * k, n), *c = floats(n * n, k), *before = floats(n * n, k);
  double *exact = wide(a, n * k), *product = ref_zeros(n * n);
  if (transposed == MO_PLAIN) ref_average_left(n, k, exact, 0, product);
  if (transposed == MO_TRANSPOSED) ref_average_right(k, n, exact, 0, product);
  mo_syrk(transposed, n, k, 0.5f, a, transposed == MO_PLAIN ? k : n, 2.0f, c, n);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) {
      const double old = before[i * n + j];
      const double expected = j <= i ? 2 * old + 0.5 * product[i * n + j] : old;
      assert_true(fabs((double)c[i * n + j] - expected) < 1e-5 * (double)(k + 10));
    }
  free(product);
  free(exact);
  free(before);
  free(c);
  free(a);
}

static void test_syrk(void **state)
{
  (void)state;
  static const size_t sizes[][2] = {{1, 1}, {7, 13}, {64, 20}, {129, 65}, {300, 31}};
  for (size_t i = 0; i < 5; i++) {
    check_syrk(sizes[i][0], sizes[i][1], MO_PLAIN);
    check_syrk(sizes[i][0], sizes[i][1], MO_TRANSPOSED);
  }
}

static void test_symmetric_product_and_mirror(void **state)
{
  (void)state;
  static const size_t sizes[] = {1, 5, 64, 131, 260};
  for (size_t i = 0; i < 5; i++) {
    const size_t n = sizes[i];
    float *g = floats(n * n, n), *a = floats(n * n, 2), *c = floats(n * n, 3);
    mo_syrk(MO_PLAIN, n, n, 1.0f / (float)n, g, n, 0.0f, a, n);
    mo_mirror(n, a, n);
    for (size_t p = 0; p < n; p++)
      for (size_t q = 0; q < p; q++) assert_true(a[p * n + q] == a[q * n + p]);
    double *exact = wide(a, n * n), *square = ref_zeros(n * n);
    ref_multiply(n, n, n, exact, exact, square);
    mo_symmetric_product(n, a, a, c);
    assert_true(relative_error(c, square, n * n) < 1e-6);
    for (size_t p = 0; p < n; p++)
      for (size_t q = 0; q < p; q++) assert_true(c[p * n + q] == c[q * n + p]);
    free(square);
    free(exact);
    free(c);
    free(a);
    free(g);
  }
}

/* Eigenvalues equal to the reference's and eigenvectors that rebuild the matrix. */
static void check_eigh(mo_eigh_solver solver, size_t n, const double *a)
{
  double *rows = ref_copy(a, n * n), *values = ref_zeros(n), *expected = ref_zeros(n);
  double *vectors = ref_zeros(n * n), *work = ref_zeros(mo_eigh_work_doubles(n));
  double *rebuilt = ref_zeros(n * n);
  ref_eigh(n, a, expected, vectors);
  for (size_t i = 0; i < n; i++)
    for (size_t j = i + 1; j < n; j++) rows[i * n + j] = NAN; /* only the lower one is read */
  assert_true(solver(n, rows, values, work));
  const double scale = ref_norm(a, n * n);
  for (size_t k = 0; k < n; k++) {
    assert_true(fabs(values[k] - expected[k]) <= 1e-13 * scale);
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < n; j++)
        rebuilt[i * n + j] += values[k] * rows[k * n + i] * rows[k * n + j];
  }
  for (size_t i = 0; i < n * n; i++) assert_true(fabs(rebuilt[i] - a[i]) <= 1e-12 * scale);
  free(rebuilt);
  free(work);
  free(vectors);
  free(expected);
  free(values);
  free(rows);
}

static const mo_eigh_solver solvers[] = {mo_eigh_divide, mo_eigh_iterate};

static void test_eigh(void **state)
{
  (void)state;
  enum { N = 60 };
  for (size_t s = 0; s < 2; s++) {
    static const size_t ranks[] = {0, 1, 2, N, 2 * N};
    check_eigh(solvers[s], 1, &(double){4});
    for (size_t k = 0; k < 5; k++) {
      double *g = ref_zeros(N * ranks[k]), *a = ref_zeros(N * N);
      for (size_t i = 0; i < N * ranks[k]; i++) g[i] = mo_random_normal(4, k, i);
      ref_average_left(N, ranks[k], g, 0, a);
      check_eigh(solvers[s], N, a);
      for (size_t i = 0; i < N; i++) a[i * N + i] += 1e-5;
      check_eigh(solvers[s], N, a);
      free(a);
      free(g);
    }
  }
}

static void test_eigh_refuses_what_is_not_finite(void **state)
{
  (void)state;
  enum { N = 9 };
  static const double bad[] = {NAN, INFINITY, -INFINITY};
  double *work = ref_zeros(mo_eigh_work_doubles(N));
  for (size_t s = 0; s < 2; s++)
    for (size_t b = 0; b < 3; b++)
      for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j <= i; j++) {
          double a[N * N] = {0}, values[N];
          a[i * N + j] = bad[b];
          assert_false(solvers[s](N, a, values, work));
        }
  free(work);
}

static void test_orthonormal_rows(void **state)
{
  (void)state;
  enum { N = 40 };
  float *a = floats(N * N, 6), *q = floats(N * N, 6);
  float *work = floats(mo_orthonormal_work_floats(N), 1);
  assert_true(mo_orthonormal_rows(N, q, work));
  double *exact = wide(q, N * N), *gram = ref_zeros(N * N);
  ref_average_left(N, N, exact, 0, gram);
  for (size_t i = 0; i < N; i++) {
    for (size_t j = 0; j < N; j++) assert_true(fabs(gram[i * N + j] - (i == j ? 1 : 0)) < 1e-5);
    for (size_t j = i + 1; j < N; j++) /* row i of a needs only the first i+1 of the basis */
      assert_true(fabs(mo_dot(a + i * N, q + j * N, N)) < 1e-4);
  }
  for (size_t i = 0; i < N; i++) q[3 * N + i] = q[5 * N + i] = 0.0f; /* singular */
  assert_true(mo_orthonormal_rows(N, q, work));
  assert_true(fabs(mo_sum_squares(q, N * N) - N) < 1e-3);
  q[17] = NAN;
  assert_false(mo_orthonormal_rows(N, q, work));
  free(gram);
  free(exact);
  free(work);
  free(q);
  free(a);
}

static void check_polar(size_t m, size_t n, size_t rank)
{
  float *x = floats(m * n, 8);
  double *exact = ref_zeros(m * n), *expected = ref_zeros(m * n);
  double *work = ref_zeros(mo_polar_work_doubles(m, n));
  for (size_t i = 0; rank < m && i < m * n; i++) { /* else x stays random */
    double sum = 0;
    for (size_t k = 0; k < rank; k++)
      sum += mo_random_normal(k, 1, i / n) * mo_random_normal(k, 2, i % n);
    x[i] = (float)sum;
  }
  for (size_t i = 0; i < m * n; i++) exact[i] = x[i];
  ref_polar(m, n, exact, 1e-6, expected);
  assert_true(mo_polar(m, n, x, work));
  for (size_t i = 0; i < m * n; i++) assert_true(fabs((double)x[i] - expected[i]) < 1e-5);
  free(work);
  free(expected);
  free(exact);
  free(x);
}

static void test_polar(void **state)
{
  (void)state;
  check_polar(20, 31, 20);
  check_polar(31, 20, 31);
  check_polar(24, 24, 2);
  check_polar(15, 40, 0);
  check_polar(2, 2, 1);
  enum { M = 5, N = 4 };
  double *work = ref_zeros(mo_polar_work_doubles(M, N));
  static const float bad[] = {NAN, INFINITY};
  for (size_t b = 0; b < 2; b++)
    for (size_t i = 0; i < M * N; i++) {
      float x[M * N] = {0};
      x[i] = bad[b];
      assert_false(mo_polar(M, N, x, work));
    }
  free(work);
}

/* NS by both ways of the library against the reference; x is scaled to norm 1 first. */
static void check_newton_schulz(mo_newton_schulz_set set, size_t m, size_t n)
{
  const size_t k = m < n ? m : n;
  char option[40];
  snprintf(option, sizeof option, "newton_schulz=%s", mo_newton_schulz_names[set]);
  ref_optimizer *reference = ref_create("muon", m, n, option);
  float *x = floats(m * n, 9), *plain = floats(m * n, 9), *spare = floats(m * n, 1);
  float *gram = floats(k * k, 1), *p = floats(k * k, 1), *a = floats(k * k, 1);
  float *b = floats(k * k, 1), *by_gram = floats(m * n, 1);
  double *exact = wide(x, m * n), *expected = ref_zeros(m * n);
  ref_newton_schulz(reference, exact, expected);

  const double norm = mo_newton_schulz_norm(set, sqrt(mo_sum_squares(x, m * n)), 1e-7);
  mo_scale(x, m * n, (float)(1 / norm));
  mo_copy_scaled(plain, x, m * n, 1.0f);
  mo_newton_schulz(set, m, n, plain, spare, gram, a);
  assert_true(relative_error(plain, expected, m * n) < 3e-5);

  mo_syrk(m <= n ? MO_PLAIN : MO_TRANSPOSED, k, m + n - k, 1.0f, x, n, 0.0f, gram, k);
  mo_mirror(k, gram, k);
  const double gamma = mo_newton_schulz_gram(set, k, gram, p, a, b);
  if (m <= n) mo_gemm(MO_PLAIN, MO_PLAIN, m, n, m, 1.0f, p, m, x, n, 0.0f, by_gram, n);
  if (m > n) mo_gemm(MO_PLAIN, MO_PLAIN, m, n, n, 1.0f, x, n, p, n, 0.0f, by_gram, n);
  assert_true(relative_error(by_gram, expected, m * n) < 3e-5);
  assert_true(fabs(gamma / ref_norm(expected, m * n) - 1) < 1e-5);

  free(expected);
  free(exact);
  free(by_gram);
  free(b);
  free(a);
  free(p);
  free(gram);
  free(spare);
  free(plain);
  free(x);
  ref_free(reference);
}

static void test_newton_schulz(void **state)
{
  (void)state;
  for (mo_newton_schulz_set set = MO_YOU5; set < MO_EXACT; set++) {
    check_newton_schulz(set, 20, 50);
    check_newton_schulz(set, 50, 20);
    check_newton_schulz(set, 2, 3);
    check_newton_schulz(set, 70, 131);
  }
  assert_string_equal(mo_newton_schulz_names[MO_EXACT], "exact");
  assert_null(mo_newton_schulz_names[MO_EXACT + 1]);
}

static void test_vectors(void **state)
{
  (void)state;
  for (size_t count = 0; count < 200; count++) { /* every remainder of every vector width */
    float *x = floats(count, 1), *y = floats(count, 2), *w = floats(count, 3);
    double largest = 0, squares = 0, dot = 0;
    for (size_t i = 0; i < count; i++) {
      largest = fmax(largest, fabs((double)x[i]));
      squares += (double)x[i] * (double)x[i];
      dot += (double)x[i] * (double)y[i];
    }
    assert_true((double)mo_largest(x, count) == largest);
    assert_true(fabs(mo_sum_squares(x, count) - squares) <= 1e-12 * (1 + squares));
    assert_true(fabs(mo_dot(x, y, count) - dot) <= 1e-12 * (1 + squares));
    mo_apply(w, x, count, 0.5f, 0.25f);
    mo_copy_scaled(y, x, count, -2.0f);
    for (size_t i = 0; i < count; i++) {
      const double old = (float)mo_random_normal(3, 0, i);
      assert_true(fabs((double)w[i] - (0.5 * old - 0.25 * (double)x[i])) < 1e-6);
      assert_true(y[i] == -2.0f * x[i]);
    }
    mo_scale(y, count, -0.5f);
    if (count > 0) assert_memory_equal(x, y, count * sizeof *x);
    free(w);
    free(y);
    free(x);
  }
}

static void test_largest_finds_what_is_not_finite(void **state)
{
  (void)state;
  static const float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
  float x[100] = {0};
  assert_true(mo_largest(x, 100) == 0.0f);
  x[5] = -3.4e38f;
  x[6] = 1e-45f;
  assert_true(mo_largest(x, 100) == 3.4e38f);
  for (size_t b = 0; b < 4; b++)
    for (size_t i = 0; i < 100; i++) {
      const float good = x[i];
      x[i] = bad[b];
      assert_true(mo_largest(x, 100) < 0.0f);
      x[i] = good;
    }
  float huge[64];
  for (size_t i = 0; i < 64; i++) huge[i] = 3e38f;
  assert_true(fabs(mo_sum_squares(huge, 64) / (64 * 9e76) - 1) < 1e-6);
}

static void test_trace(void **state)
{
  (void)state;
  const float a[] = {1, 9, 9, 9, 2, 9, 9, 9, 4};
  assert_true(mo_trace(a, 3) == 7);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_syrk),
      cmocka_unit_test(test_symmetric_product_and_mirror),
      cmocka_unit_test(test_eigh),
      cmocka_unit_test(test_eigh_refuses_what_is_not_finite),
      cmocka_unit_test(test_orthonormal_rows),
      cmocka_unit_test(test_polar),
      cmocka_unit_test(test_newton_schulz),
      cmocka_unit_test(test_vectors),
      cmocka_unit_test(test_largest_finds_what_is_not_finite),
      cmocka_unit_test(test_trace),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
