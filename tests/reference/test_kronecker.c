/* test_kronecker.c - statistics and inverse roots of one side against plain loops in double,
 * and the ladder of eigen-solvers: each rung is taken and counted, the last keeps what was
 * there. */
#include "base/random.h"
#include "check.h"
#include "optim/kronecker.h"
#include "reference/dense.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 14, COLS = 9, BLOCK = 5 };
static const mo_shape shape = {ROWS, COLS};

static bool fails(size_t n, double *a, double *values, double *work)
{
  for (size_t i = 0; i < n; i++) values[i] = a[i] = NAN; /* garbage that must not be used */
  (void)work;
  return false;
}

static const mo_eigh_solver good[] = {mo_eigh_divide, NULL};
static const mo_eigh_solver second[] = {fails, mo_eigh_iterate, NULL};
static const mo_eigh_solver none[] = {fails, fails, NULL};

static const mo_root_rule rule = {.power = 0.25,
                                  .correction = 1,
                                  .gain = 1.0f,
                                  .trace_norm = true,
                                  .damping = MO_DAMP_ABSOLUTE,
                                  .eps = 1e-3};

static void averages(mo_side side, float *statistics, double *exact)
{
  const size_t n = side.size;
  for (uint64_t t = 0; t < 3; t++) {
    float g[ROWS * COLS];
    double wide[ROWS * COLS];
    mo_random_fill(g, ROWS * COLS, 1, 5, t);
    for (size_t i = 0; i < ROWS * COLS; i++) wide[i] = g[i];
    mo_side_average(side, shape, g, 0.9, statistics);
    if (side.right) ref_average_right(ROWS, COLS, wide, 0.9, exact);
    if (!side.right) ref_average_left(ROWS, COLS, wide, 0.9, exact);
  }
  for (size_t first = 0, d; first < n; first += d, statistics += d * d) {
    d = n - first < side.block ? n - first : side.block;
    for (size_t i = 0; i < d; i++)
      for (size_t j = 0; j <= i; j++)
        assert_true(fabs((double)statistics[i * d + j] - exact[(first + i) * n + first + j]) <
                    1e-5);
  }
}

/* The root of one block: (normalised + 2 eps)^-power, by the reference's eigen-solver. */
static void check_root(size_t n, size_t first, size_t d, const double *exact, const float *root)
{
  double *s = ref_zeros(d * d), *values = ref_zeros(d), *vectors = ref_zeros(d * d), trace = 0;
  for (size_t i = 0; i < d; i++) trace += exact[(first + i) * n + first + i];
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j < d; j++)
      s[i * d + j] = exact[(first + i) * n + first + j] * (double)d / (trace + rule.eps);
  ref_eigh(d, s, values, vectors);
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j < d; j++) {
      double expected = 0;
      for (size_t k = 0; k < d; k++)
        expected += pow(values[k] + 2 * rule.eps, -rule.power) * vectors[i * d + k] *
                    vectors[j * d + k];
      assert_true(fabs((double)root[i * d + j] - expected) < 1e-4);
    }
  free(vectors);
  free(values);
  free(s);
}

static void check_side(bool right, size_t block)
{
  const mo_side side = mo_side_make(shape, right, block);
  const size_t n = right ? COLS : ROWS, count = mo_side_floats(side);
  assert_int_equal(side.size, n);
  float *statistics = calloc(count, sizeof *statistics), *root = calloc(count, sizeof *root);
  float *before = calloc(count, sizeof *before);
  float *work = aligned_alloc(64, (mo_side_refresh_floats(side) + 16) / 16 * 64);
  assert_true(statistics != NULL && root != NULL && before != NULL && work != NULL);
  double *exact = ref_zeros(n * n);
  averages(side, statistics, exact);

  static const mo_eigh_solver *const ladders[] = {good, second};
  const size_t blocks = (n + side.block - 1) / side.block;
  for (size_t l = 0; l < 2; l++) {
    mo_counts counts = {0};
    mo_side_identity(side, root);
    mo_side_refresh(side, statistics, &rule, ladders[l], root, work, &counts, NULL);
    assert_true(counts.refreshes > 0 && counts.kept == 0);
    assert_true((counts.retries > 0) == (l == 1));
    const float *at = root;
    for (size_t b = 0; b < blocks; b++) {
      const size_t first = b * side.block;
      const size_t d = n - first < side.block ? n - first : side.block;
      check_root(n, first, d, exact, at);
      at += d * d;
    }
  }
  mo_counts counts = {0};
  memcpy(before, root, count * sizeof *root);
  mo_side_refresh(side, statistics, &rule, none, root, work, &counts, NULL);
  assert_memory_equal(before, root, count * sizeof *root);
  assert_true(counts.kept == blocks && counts.retries == blocks);
  free(exact);
  free(work);
  free(before);
  free(root);
  free(statistics);
}

static void test_sides(void **state)
{
  (void)state;
  for (int right = 0; right < 2; right++) {
    check_side(right, 0);
    check_side(right, BLOCK);
    check_side(right, 1000);
  }
}

static void test_identity_and_multiply(void **state)
{
  (void)state;
  for (int right = 0; right < 2; right++)
    for (size_t block = 0; block <= BLOCK; block += BLOCK) {
      const mo_side side = mo_side_make(shape, right, block);
      float *root = calloc(mo_side_floats(side), sizeof *root), x[ROWS * COLS], y[ROWS * COLS];
      assert_non_null(root);
      mo_random_fill(x, ROWS * COLS, 1, 6, 0);
      mo_side_identity(side, root);
      mo_side_multiply(side, shape, root, x, y);
      assert_memory_equal(x, y, sizeof x);
      free(root);
    }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sides),
      cmocka_unit_test(test_identity_and_multiply),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
