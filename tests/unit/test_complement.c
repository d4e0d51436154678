/* test_complement.c - orthonormal rows completed to a basis. */
#include "base/random.h"
#include "check.h"
#include "linalg/complement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double dot(size_t n, const double *x, const double *y)
{
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

/* The last `known` rows: random, or random mixtures of those of `like`, made orthonormal. */
static void fill_known(size_t n, size_t known, const double *like, uint64_t seed, double *rows)
{
  for (size_t i = n - known; i < n; i++) {
    double *row = rows + i * n;
    for (size_t j = 0; j < n; j++) row[j] = like == NULL ? mo_random_normal(seed, i, j) : 0;
    for (size_t k = n - known; like != NULL && k < n; k++) {
      const double part = mo_random_normal(seed, i, k);
      for (size_t j = 0; j < n; j++) row[j] += part * like[k * n + j];
    }
    for (int twice = 0; twice < 2; twice++) {
      for (size_t k = n - known; k < i; k++) {
        const double part = dot(n, row, rows + k * n);
        for (size_t j = 0; j < n; j++) row[j] -= part * rows[k * n + j];
      }
      const double length = sqrt(dot(n, row, row));
      for (size_t j = 0; j < n; j++) row[j] /= length;
    }
  }
}

static double *completed(size_t n, size_t known, const double *like, uint64_t seed)
{
  double *rows = calloc(n * n, sizeof *rows);
  double *work = calloc(mo_complement_work_doubles(n), sizeof *work);
  assert_true(rows != NULL && work != NULL);
  fill_known(n, known, like, seed, rows);
  mo_complement_rows(n, known, rows, work);
  free(work);
  return rows;
}

/* It is a basis, and the same one for other rows that span the same space. Sizes around panels. */
static void test_a_basis_by_the_space_alone(void **state)
{
  (void)state;
  static const size_t cases[][2] = {{1, 0},  {2, 1},   {7, 3},    {64, 0},
                                    {65, 1}, {130, 2}, {150, 100}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    const size_t n = cases[c][0], known = cases[c][1];
    double *rows = completed(n, known, NULL, c), *turned = completed(n, known, rows, c + 50);
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j <= i; j++)
        assert_true(fabs(dot(n, rows + i * n, rows + j * n) - (i == j)) < 1e-9);
    for (size_t i = 0; i < (n - known) * n; i++) assert_true(fabs(rows[i] - turned[i]) < 1e-8);
    free(turned);
    free(rows);
  }
}

/* Of nothing known: the axes, the first one last. */
static void test_of_nothing(void **state)
{
  (void)state;
  const size_t n = 5;
  double *rows = completed(n, 0, NULL, 1);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) assert_true(rows[i * n + j] == (j == n - 1 - i));
  free(rows);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_basis_by_the_space_alone),
      cmocka_unit_test(test_of_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
