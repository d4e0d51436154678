/* test_kernels.c - every kernel of linalg/ against plain loops in double, on ordinary,
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
}

/* NS by both ways of the library against the reference; x is scaled to norm 1 first. */
static void check_newton_schulz(mo_newton_schulz_set set, size_t m, size_t n)
{
  const size_t k = m < n ? m : n;
  char option[40];
  snprintf(option, sizeof option, "newton_schulz=%s", mo_newton_schulz_names[set]);
  const double allowed =
      set == MO_EXACT12 ? 1e-4 : 3e-5; /* five iterations that act as twelve */
  ref_optimizer *reference = ref_create("muon", m, n, option);
  float *x = floats(m * n, 9), *plain = floats(m * n, 9), *spare = floats(m * n, 1);
  float *gram = floats(k * k, 1), *p = floats(k * k, 1), *a = floats(k * k, 1);
  float *b = floats(k * k, 1), *by_gram = floats(m * n, 1);
  double *exact = wide(x, m * n), *expected = ref_zeros(m * n);
  ref_newton_schulz(reference, exact, expected);

  const double norm = mo_newton_schulz_norm(set, sqrt(mo_sum_squares(x, m * n)), 1e-7);
  mo_scale(x, m * n, (float)(1 / norm));
  mo_copy_scaled(plain, x, m * n, 1.0f);
  const float *n_plain = mo_newton_schulz(set, false, m, n, plain, spare, gram, a);
  assert_true(relative_error(n_plain, expected, m * n) < allowed);

  mo_syrk(MO_LOWER, m <= n ? MO_PLAIN : MO_TRANSPOSED, k, m + n - k, 1.0f, x, n, 0.0f, gram, k);
  mo_mirror(k, gram, k);
  mo_gram_arrays arrays = {gram, p, a, b};
  const double gamma = mo_newton_schulz_gram(set, k, &arrays, true);
  if (m <= n)
    mo_gemm(MO_PLAIN, MO_PLAIN, m, n, m, 1.0f, arrays.polynomial, m, x, n, 0.0f, by_gram, n);
  if (m > n)
    mo_gemm(MO_PLAIN, MO_PLAIN, m, n, n, 1.0f, x, n, arrays.polynomial, n, 0.0f, by_gram, n);
  assert_true(relative_error(by_gram, expected, m * n) < allowed);
  assert_true(fabs(gamma / ref_norm(expected, m * n) - 1) < allowed);

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
  for (mo_newton_schulz_set set = MO_YOU5; set < MO_NEWTON_SCHULZ_SETS; set++) {
    if (set == MO_EXACT) continue;
    check_newton_schulz(set, 20, 50);
    check_newton_schulz(set, 50, 20);
    check_newton_schulz(set, 2, 3);
    check_newton_schulz(set, 70, 131);
  }
  assert_string_equal(mo_newton_schulz_names[MO_EXACT], "exact");
  assert_null(mo_newton_schulz_names[MO_NEWTON_SCHULZ_SETS]);
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

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_polar),
      cmocka_unit_test(test_newton_schulz),
      cmocka_unit_test(test_vectors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
