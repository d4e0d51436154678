/* test_definite.c - what roots by Cholesky are made of: sums of partial fractions, and sums of
 * inverses against the eigenvalue decomposition in double. */
#include "base/random.h"
#include "base/team.h"
#include "check.h"
#include "linalg/blas.h"
#include "linalg/definite.h"
#include "linalg/fractions.h"
#include "linalg/lapack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *allocate(size_t count, size_t bytes)
{
  void *memory = calloc(count, bytes);
  assert_non_null(memory);
  return memory;
}

/* The largest relative error, on a finer grid than that of the fit. */
static double largest_error(const mo_fractions *f, double power, double low, double high)
{
  enum { POINTS = 3000 };
  double worst = 0;
  for (int i = 0; i <= POINTS; i++) {
    const double x = low * pow(high / low, (double)i / POINTS);
    const double error = fabs(mo_fractions_at(f, x) * pow(x, power) - 1);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

/* What cancels in the sum is lost in float. */
static double cancellation(const mo_fractions *f, double power, double x)
{
  double sum = fabs(f->constant) + fabs(f->linear * x);
  for (int j = 0; j < f->count; j++) sum += fabs(f->weight[j] / (x + f->shift[j]));
  return sum * pow(x, power);
}

static void test_fractions_of_any_range(void **state)
{
  (void)state;
  static const double powers[] = {0, 0.0625, 0.125, 0.25, 0.5, 0.9};
  static const double ranges[] = {1.001, 2, 10, 1e2, 1e4, 1e6, 1e8, 1e12};
  static const double lows[] = {1e-60, 2e-5, 1e20};
  for (size_t p = 0; p < 6; p++)
    for (size_t r = 0; r < 8; r++)
      for (int count = 1; count <= MO_MAX_FRACTIONS; count++) {
        const double power = powers[p], low = lows[count % 3], high = ranges[r] * low;
        const mo_fractions f = mo_fractions_fit(power, low, high, count);
        const double error = largest_error(&f, power, low, high);
        assert_true(error <= 1.1 * f.error + 1e-12);
        assert_true(error <= (count < 3 || r == 7 ? 0.95 : 0.25));
        for (int j = 0; j < count; j++)
          assert_true(f.shift[j] > (j == 0 ? 0 : f.shift[j - 1]) && isfinite(f.weight[j]));
        assert_true(cancellation(&f, power, low) < 15 && cancellation(&f, power, high) < 15);
      }
}

/* What root.c and docs/refresh.md count on, for the ranges that training shows. */
static void test_fractions_are_as_good_as_promised(void **state)
{
  (void)state;
  static const struct {
    double power, range;
    int count;
    double limit;
  } promises[] = {
      {0.25, 2.5e7, 4, 2.2e-2},   {0.25, 2.5e7, 5, 8.0e-3},   {0.25, 5e7, 4, 2.6e-2},
      {0.25, 5e7, 5, 1.0e-2},     {0.25, 1e6, 5, 2.6e-3},     {0.125, 2.5e7, 4, 1.2e-2},
      {0.125, 2.5e7, 5, 4.3e-3},  {0.125, 5e7, 5, 5.2e-3},    {0.125, 1e6, 5, 1.4e-3},
      {0.0625, 2.5e7, 4, 6.0e-3}, {0.0625, 2.5e7, 5, 2.2e-3}, {0.5, 2.5e7, 5, 1.3e-2},
      {0.25, 2.5e7, 8, 4.0e-4},   {0.25, 1e4, 4, 9.0e-4}};
  for (size_t i = 0; i < sizeof promises / sizeof *promises; i++) {
    const double power = promises[i].power, high = 2e-5 * promises[i].range;
    const mo_fractions f = mo_fractions_fit(power, 2e-5, high, promises[i].count);
    assert_true(largest_error(&f, power, 2e-5, high) < promises[i].limit);
  }
}

/* Root.c fits up to 1.5 times its estimate of the largest eigenvalue. Should that be a third of
 * the truth, a sum that is good enough for it is still positive there, and not far off. */
static void test_fractions_above_their_range(void **state)
{
  (void)state;
  static const double powers[] = {0.0625, 0.125, 0.25};
  for (size_t p = 0; p < 3; p++)
    for (double high = 1e-2; high < 1e5; high *= 3)
      for (int count = 3; count <= MO_MAX_FRACTIONS; count++) {
        const mo_fractions f = mo_fractions_fit(powers[p], 2e-5, high, count);
        for (double x = high; f.error < 0.11 * powers[p] && x <= 2 * high; x += 0.05 * high)
          assert_in_range((int)(100 * mo_fractions_at(&f, x) * pow(x, powers[p])), 65, 110);
      }
}

/* A = X X^T / n + floor I, in an array of rows `stride` apart whose rest is NaN. */
static float *definite_matrix(size_t n, size_t stride, double floor)
{
  float *x = allocate(n * n, sizeof *x), *a = allocate(n * stride, sizeof *a);
  mo_random_fill(x, n * n, 1.0, n, 0);
  for (size_t i = 0; i < n * stride; i++) a[i] = NAN;
  mo_syrk(MO_LOWER, MO_PLAIN, n, n, 1.0f / (float)n, x, n, 0.0f, a, stride);
  for (size_t i = 0; i < n; i++) a[i * stride + i] += (float)floor;
  free(x);
  return a;
}

/* Rows are eigenvectors divided by the square root of their eigenvalue: R^T R = A^-1. */
static double *inverse_root(size_t n, const float *a, size_t stride)
{
  double *r = allocate(n * n, sizeof *r), *values = allocate(n, sizeof *values);
  double *work = allocate(mo_eigh_work_doubles(n), sizeof *work);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) r[i * n + j] = (double)a[i * stride + j];
  assert_true(mo_eigh_divide(n, r, values, work));
  for (size_t i = 0; i < n * n; i++) r[i] /= sqrt(values[i / n]);
  free(values), free(work);
  return r;
}

static void check_inverse(size_t n, double floor, double limit)
{
  const size_t stride = n + 3;
  const float start = 3.0f, weight = -0.5f;
  float *a = definite_matrix(n, stride, floor), *sum = allocate(n * (n + 1), sizeof *sum);
  double *r = inverse_root(n, a, stride), error = 0, norm = 0;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= n; j++) sum[i * (n + 1) + j] = j >= i && j < n ? start : NAN;
  assert_true(mo_definite_invert_factor(n, a, stride));
  mo_definite_add_inverse(n, weight, a, stride, sum, n + 1);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = n; j < stride; j++) assert_true(isnan(a[i * stride + j]));
    for (size_t j = 0; j <= n; j++) {
      const float found = sum[i * (n + 1) + j];
      if (j < i || j == n) assert_true(isnan(found));
      if (j < i || j == n) continue;
      double expected = 0;
      for (size_t k = 0; k < n; k++) expected += r[k * n + i] * r[k * n + j];
      error += pow((double)found - ((double)start + (double)weight * expected), 2);
      norm += pow((double)weight * expected, 2);
    }
  }
  assert_true(sqrt(error) <= limit * sqrt(norm));
  free(a), free(sum), free(r);
}

static void test_inverse(void **state)
{
  (void)state;
  static const size_t sizes[] = {1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200, 321, 513};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) check_inverse(sizes[i], 0.1, 1e-5);
  check_inverse(200, 1e-4, 2e-3); /* condition 4e4: half of the digits are gone */
}

static void check_long(void *context, size_t item, int thread)
{
  (void)context, (void)item, (void)thread;
  check_inverse(1040, 0.1, 1e-5);
}

/* Inside a team a long side is summed in blocks of its own. */
static void test_inverse_in_blocks(void **state)
{
  (void)state;
  mo_team_run(3, 1, check_long, NULL);
}

/* Each part of a triangle has a place in a list of 32. */
static void test_parts_of_a_triangle(void **state)
{
  (void)state;
  for (size_t n = 1; n <= 20000; n++) {
    const size_t band = mo_definite_band(n);
    assert_in_range((n + band - 1) / band, 1, 32);
  }
}

static void test_inverse_of_what_has_none(void **state)
{
  (void)state;
  enum { N = 150 };
  static const size_t places[] = {0, 5, 63, 64, 100, N - 1};
  static const float values[] = {-1.0f, 0.0f, NAN, INFINITY};
  for (size_t p = 0; p < 6; p++)
    for (size_t v = 0; v < 4; v++) {
      float *a = definite_matrix(N, N, 0.1);
      a[places[p] * N + places[p]] = values[v];
      assert_false(mo_definite_invert_factor(N, a, N));
      free(a);
    }
  float tiny[4] = {1e-37f, 0.0f, 0.0f, 1e-37f}; /* W is finite, W^T W is not safely so */
  assert_false(mo_definite_invert_factor(2, tiny, 2));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fractions_of_any_range),
      cmocka_unit_test(test_fractions_are_as_good_as_promised),
      cmocka_unit_test(test_fractions_above_their_range),
      cmocka_unit_test(test_inverse),
      cmocka_unit_test(test_inverse_in_blocks),
      cmocka_unit_test(test_parts_of_a_triangle),
      cmocka_unit_test(test_inverse_of_what_has_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
