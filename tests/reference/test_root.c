/* test_root.c - statistics and roots of one side against plain loops in double, by every
 * method, and the ladder of solvers: each rung is taken and counted, the last keeps what was
 * there. */
#include "base/random.h"
#include "check.h"
#include "optim/basis.h"
#include "optim/root.h"
#include "optim/root_block.h"
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

static const mo_eigh_solver second[] = {fails, mo_eigh_iterate, NULL};
static const mo_eigh_solver none[] = {fails, fails, NULL};

typedef struct trial {
  mo_side side;
  mo_root_rule rule;
  float *pair, *basis, *work;
  double *exact; /* statistics, whole side */
  mo_counts counts;
} trial;

static void start(trial *t, mo_shape matrix, bool right, size_t block, mo_refresh method)
{
  *t = (trial){.side = mo_side_make(matrix, right, block),
               .rule = {.power = 0.25,
                        .correction = 1,
                        .grad_scale = 1.0f,
                        .trace_norm = true,
                        .damping = MO_DAMP_ABSOLUTE,
                        .eps = 1e-3,
                        .method = method}};
  const size_t n = t->side.size;
  t->pair = calloc(mo_pair_floats(t->side), sizeof *t->pair);
  t->basis = calloc(n * n, sizeof *t->basis);
  t->work = aligned_alloc(64, mo_root_work_floats(method, t->side) * sizeof *t->work + 64 -
                                  mo_root_work_floats(method, t->side) * sizeof *t->work % 64);
  t->exact = ref_zeros(n * n);
  assert_true(t->pair != NULL && t->basis != NULL && t->work != NULL);
}

static void stop(trial *t)
{
  free(t->pair), free(t->basis), free(t->work), free(t->exact);
}

static void average(trial *t, uint64_t times)
{
  for (uint64_t k = 0; k < times; k++) {
    float g[ROWS * COLS];
    double wide[ROWS * COLS];
    mo_random_fill(g, ROWS * COLS, 1, 5, k);
    for (size_t i = 0; i < ROWS * COLS; i++) wide[i] = (double)g[i];
    mo_side_average(t->side, shape, g, 0.9, k + 1, t->pair);
    if (t->side.right) ref_average_right(ROWS, COLS, wide, 0.9, t->exact);
    if (!t->side.right) ref_average_left(ROWS, COLS, wide, 0.9, t->exact);
  }
}

static void refresh(trial *t)
{
  mo_root_refresh(t->side, &t->rule, t->pair, t->basis, t->work, &t->counts, NULL);
}

static void check_statistics(const trial *t)
{
  const size_t n = t->side.size;
  MO_FOR_BLOCKS(t->side, at)
  for (size_t i = 0; i < at.size; i++)
    for (size_t j = 0; j <= i; j++)
      assert_true(fabs((double)t->pair[at.offset + i * (at.size + 1) + j] -
                       t->exact[(at.start + i) * n + at.start + j]) < 1e-5);
}

/* The root of each block: (normalised + 2 eps)^-power, by the reference's eigen-solver. */
static void check_roots(const trial *t, double limit)
{
  const size_t n = t->side.size;
  MO_FOR_BLOCKS(t->side, at)
  {
    const size_t d = at.size;
    double *s = ref_zeros(d * d), *values = ref_zeros(d), *vectors = ref_zeros(d * d);
    double trace = 0, error = 0, norm = 0;
    for (size_t i = 0; i < d; i++) trace += t->exact[(at.start + i) * n + at.start + i];
    for (size_t i = 0; i < d; i++)
      for (size_t j = 0; j < d; j++)
        s[i * d + j] =
            t->exact[(at.start + i) * n + at.start + j] * (double)d / (trace + t->rule.eps);
    ref_eigh(d, s, values, vectors);
    for (size_t i = 0; i < d; i++)
      for (size_t j = i; j < d; j++) {
        double expected = 0;
        for (size_t k = 0; k < d; k++)
          expected += pow(values[k] + 2 * t->rule.eps, -t->rule.power) * vectors[i * d + k] *
                      vectors[j * d + k];
        const double found = (double)t->pair[at.offset + 1 + i * (d + 1) + j];
        error += pow(found - expected, 2);
        norm += pow(expected, 2);
      }
    assert_true(sqrt(error) < limit * sqrt(norm));
    free(vectors), free(values), free(s);
  }
}

static void test_roots_by_every_method(void **state)
{
  (void)state;
  static const size_t blocks[] = {0, BLOCK, 1000};
  static const double powers[] = {0.0, 0.125, 0.25, 0.5};
  for (int right = 0; right < 2; right++)
    for (size_t b = 0; b < 3; b++)
      for (size_t p = 0; p < 4; p++)
        for (int method = MO_REFRESH_EIGH; method <= MO_REFRESH_CHOLESKY; method++) {
          trial t;
          start(&t, shape, right, blocks[b], (mo_refresh)method);
          t.rule.power = powers[p];
          average(&t, 3);
          check_statistics(&t);
          refresh(&t);
          check_roots(&t, method == MO_REFRESH_CHOLESKY ? 2e-2 : 1e-5);
          check_statistics(&t); /* the root must not have touched them */
          assert_int_equal(t.counts.refreshes, 1);
          assert_int_equal(t.counts.retries + t.counts.fallbacks, 0);
          stop(&t);
        }
}

/* The second refresh by qr moves the basis; with unchanged statistics it stays right. */
static void test_qr_follows(void **state)
{
  (void)state;
  trial t;
  start(&t, shape, false, 0, MO_REFRESH_QR);
  average(&t, 5);
  for (int i = 0; i < 4; i++) {
    refresh(&t);
    check_roots(&t, 1e-4);
  }
  assert_int_equal(t.counts.retries, 0);
  stop(&t);
}

static void test_ladder_of_solvers(void **state)
{
  (void)state;
  trial t;
  start(&t, shape, false, BLOCK, MO_REFRESH_EIGH);
  const size_t bytes = mo_pair_floats(t.side) * sizeof *t.pair,
               blocks = (ROWS + BLOCK - 1) / BLOCK;
  float *before = malloc(bytes);
  average(&t, 3);
  t.rule.ladder = second;
  refresh(&t);
  check_roots(&t, 1e-5);
  assert_int_equal(t.counts.retries, blocks);
  assert_int_equal(t.counts.fallbacks, 0);

  memcpy(before, t.pair, bytes);
  t.rule.ladder = none;
  refresh(&t);
  assert_memory_equal(before, t.pair, bytes);
  assert_int_equal(t.counts.fallbacks, blocks);

  t.rule.ladder = NULL;
  t.pair[0] = NAN; /* cannot happen, but if it did: only that block keeps its root */
  refresh(&t);
  assert_int_equal(t.counts.fallbacks, blocks + 1);
  free(before);
  stop(&t);
}

/* Statistics that are not positive definite: more damping, then the old root. */
static void test_cholesky_retries_with_more_damping(void **state)
{
  (void)state;
  trial t;
  start(&t, shape, true, 0, MO_REFRESH_CHOLESKY);
  t.rule.trace_norm = false;
  for (size_t i = 0; i < COLS; i++) t.pair[i * (COLS + 1) + i] = i == 0 ? -0.01f : 1.0f;
  refresh(&t);
  assert_true(t.counts.retries > 0);
  assert_int_equal(t.counts.fallbacks, 0);
  for (size_t i = 0; i < COLS; i++) assert_true(isfinite(t.pair[1 + i * (COLS + 1) + i]));

  const mo_counts earlier = t.counts;
  float *before = malloc(mo_pair_floats(t.side) * sizeof *before);
  t.pair[0] = -1e6f;
  memcpy(before, t.pair, mo_pair_floats(t.side) * sizeof *before);
  refresh(&t);
  assert_int_equal(t.counts.fallbacks, earlier.fallbacks + 1);
  assert_memory_equal(before, t.pair, mo_pair_floats(t.side) * sizeof *before);
  free(before);
  stop(&t);
}

/* Spectra that are hard for a sum of fractions in float. */
typedef enum spectrum { DECADES, CLUSTERS, DEFICIENT, ONE_HUGE, ALL_EQUAL, SPECTRA } spectrum;

static double eigenvalue(spectrum kind, size_t i, size_t n)
{
  const double place = (double)i / (double)(n - 1);
  switch (kind) {
  case DECADES:
    return pow(10, -8 * place);
  case CLUSTERS:
    return (i % 2 ? 1.0 : 1e-4) * (1 + 1e-4 * place);
  case DEFICIENT:
    return i < n / 3 ? 1.0 : 0.0;
  case ONE_HUGE:
    return i == 0 ? 1.0 : 1e-6;
  default:
    return 1.0;
  }
}

/* The lower triangle of Q^T diag(values) Q for a random rotation Q. */
static void set_statistics(trial *t, spectrum kind)
{
  const size_t n = t->side.size;
  float *random = calloc(n * n, sizeof *random);
  double *wide = ref_zeros(n * n), *q = ref_zeros(n * n);
  assert_non_null(random);
  mo_random_fill(random, n * n, 1, 8, kind);
  for (size_t i = 0; i < n * n; i++) wide[i] = (double)random[i];
  ref_qr(n, wide, q);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) {
      double sum = 0;
      for (size_t k = 0; k < n; k++)
        sum += eigenvalue(kind, k, n) * q[k * n + i] * q[k * n + j];
      t->pair[i * (n + 1) + j] = (float)sum;
    }
  free(random), free(wide), free(q);
}

/* The largest error of the root along an eigenvector of the statistics as they are stored:
 * ||P q - l^-power q|| / l^-power. */
static double worst_direction(const trial *t)
{
  const size_t n = t->side.size;
  double *s = ref_zeros(n * n), *values = ref_zeros(n), *vectors = ref_zeros(n * n);
  double *product = ref_zeros(n * n), *root = ref_zeros(n * n), trace = 0, worst = 0;
  for (size_t i = 0; i < n; i++) trace += (double)t->pair[i * (n + 1) + i];
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) {
      s[i * n + j] = s[j * n + i] =
          (double)t->pair[i * (n + 1) + j] * (double)n / (trace + t->rule.eps);
      root[i * n + j] = root[j * n + i] = (double)t->pair[1 + j * (n + 1) + i];
    }
  ref_eigh(n, s, values, vectors);
  ref_multiply(n, n, n, root, vectors, product);
  for (size_t k = 0; k < n; k++) {
    const double wanted = pow(values[k] + 2 * t->rule.eps, -t->rule.power);
    double squares = 0;
    for (size_t i = 0; i < n; i++)
      squares += pow(product[i * n + k] - wanted * vectors[i * n + k], 2);
    worst = fmax(worst, sqrt(squares) / wanted);
  }
  free(s), free(values), free(vectors), free(product), free(root);
  return worst;
}

static void start_square(trial *t, size_t n, double power, int terms)
{
  start(t, (mo_shape){n, n}, false, 0, MO_REFRESH_CHOLESKY);
  t->rule.power = power;
  t->rule.eps = 1e-5;
  t->rule.terms = terms;
}

static void test_cholesky_on_hard_spectra(void **state)
{
  (void)state;
  enum { N = 130 };
  static const struct {
    double power;
    int terms;
    double limit;
  } cases[] = {{0.125, 4, 1.3e-2}, {0.125, 5, 6e-3},  {0.125, 0, 0.35 * 0.125},
               {0.25, 4, 2.4e-2},  {0.25, 5, 1.2e-2}, {0.25, 0, 0.35 * 0.25}};
  for (int kind = 0; kind < SPECTRA; kind++)
    for (size_t c = 0; c < 6; c++) {
      trial t;
      start_square(&t, N, cases[c].power, cases[c].terms);
      set_statistics(&t, (spectrum)kind);
      refresh(&t);
      assert_int_equal(t.counts.retries + t.counts.fallbacks, 0);
      assert_true(worst_direction(&t) < cases[c].limit);
      stop(&t);
    }
}

/* I + v v^T with v of alternating signs: all rows are alike, and a start that takes them alike
 * never sees the one large eigenvalue. */
static void test_cholesky_sees_the_largest_eigenvalue(void **state)
{
  (void)state;
  enum { N = 100 };
  trial t;
  start_square(&t, N, 0.25, 4);
  for (size_t i = 0; i < N; i++)
    for (size_t j = 0; j <= i; j++)
      t.pair[i * (N + 1) + j] = ((i + j) % 2 ? -1.0f : 1.0f) + (i == j ? 1.0f : 0.0f);
  refresh(&t);
  assert_true(worst_direction(&t) < 2.4e-2);
  stop(&t);
}

/* A long side has fewer terms; the limit is what is promised for it. Diagonal statistics over
 * ten decades, so that the exact root is known. */
static void test_cholesky_on_a_long_side(void **state)
{
  (void)state;
  enum { N = 1030 };
  static const double powers[] = {0.125, 0.25};
  for (size_t p = 0; p < 2; p++) {
    trial t;
    double trace = 0, worst = 0;
    start_square(&t, N, powers[p], 0);
    for (size_t i = 0; i < N; i++)
      t.pair[i * (N + 2)] = (float)pow(10, i == 0 ? 2 : -8 * (double)i / N);
    for (size_t i = 0; i < N; i++) trace += (double)t.pair[i * (N + 2)];
    refresh(&t);
    for (size_t i = 0; i < N; i++) {
      const double value = (double)t.pair[i * (N + 2)] * N / (trace + 1e-5) + 2e-5;
      worst = fmax(worst, fabs((double)t.pair[1 + i * (N + 2)] * pow(value, powers[p]) - 1));
    }
    assert_true(worst < 0.35 * powers[p] + 1e-3);
    stop(&t);
  }
}

static void test_identity_and_multiply(void **state)
{
  (void)state;
  for (int right = 0; right < 2; right++)
    for (size_t block = 0; block <= BLOCK; block += BLOCK) {
      const mo_side side = mo_side_make(shape, right, block);
      float *pair = calloc(mo_pair_floats(side), sizeof *pair), x[ROWS * COLS], y[ROWS * COLS];
      assert_non_null(pair);
      mo_random_fill(x, ROWS * COLS, 1, 6, 0);
      mo_side_identity(side, pair);
      mo_side_multiply(side, shape, pair, x, y);
      assert_memory_equal(x, y, sizeof x);
      free(pair);
    }
}

/* Whether a float of a pair belongs to the statistics; else it is the root's. */
static bool in_statistics(mo_side side, size_t place)
{
  MO_FOR_BLOCKS(side, at)
  if (place < at.offset + at.size * (at.size + 1)) {
    place -= at.offset;
    return place % (at.size + 1) <= place / (at.size + 1);
  }
  fail();
  return false;
}

/* A single number anywhere in a pair is found among the statistics or among the roots, and scaled
 * with the statistics alone. */
static void test_every_float_of_a_pair(void **state)
{
  (void)state;
  for (size_t block = 0; block <= BLOCK; block += BLOCK) {
    const mo_side side = mo_side_make(shape, false, block);
    const size_t count = mo_pair_floats(side);
    float *pair = calloc(count, sizeof *pair);
    assert_non_null(pair);
    for (size_t i = 0; i < count; i++) {
      const bool statistics = in_statistics(side, i);
      pair[i] = -3.0f;
      assert_true(mo_side_largest(side, pair) == (statistics ? 3.0f : 0.0f));
      assert_true(mo_side_largest_root(side, pair) == (statistics ? 0.0f : 3.0f));
      mo_side_scale(side, pair, 2.0f);
      assert_true(pair[i] == (statistics ? -6.0f : -3.0f));
      pair[i] = 0.0f;
    }
    free(pair);
  }
}

/* ||off-diagonal part of B A B^T|| / ||A|| in double, for the statistics and a basis by rows. */
static double part_off_diagonal(const trial *t)
{
  const size_t n = t->side.size;
  double all = 0, on = 0;
  for (size_t i = 0; i < n; i++) {
    double value = 0;
    for (size_t j = 0; j < n; j++)
      for (size_t k = 0; k < n; k++)
        value +=
            (double)t->basis[i * n + j] * (double)t->basis[i * n + k] * t->exact[j * n + k];
    on += value * value;
  }
  for (size_t i = 0; i < n * n; i++) all += t->exact[i] * t->exact[i];
  return sqrt((all - on) / all);
}

/* A basis stays while no more is off the diagonal than the tolerance allows, and not longer. */
static void test_a_basis_stays_within_the_tolerance(void **state)
{
  (void)state;
  trial t;
  start(&t, shape, true, 0, MO_REFRESH_QR);
  const size_t n = t.side.size;
  float values[COLS], product[COLS * COLS], *work = NULL;
  double *random = ref_zeros(n * n), *q = ref_zeros(n * n);
  size_t order[COLS];
  work = calloc(mo_basis_work_floats(n), sizeof *work);
  assert_non_null(work);
  average(&t, 3);
  assert_false(mo_basis_near(n, t.pair, 1, t.basis, values, product)); /* there is none yet */
  for (size_t i = 0; i < n * n; i++) random[i] = mo_random_normal(4, 0, i);
  ref_qr(n, random, q);
  for (size_t i = 0; i < n * n; i++) t.basis[i] = (float)q[i];
  const double off = part_off_diagonal(&t);
  assert_true(off > 0.1 && off < 0.9);
  assert_false(mo_basis_near(n, t.pair, 0.99 * off, t.basis, values, product));
  assert_true(mo_basis_near(n, t.pair, 1.01 * off, t.basis, values, product));
  assert_int_equal(mo_basis_move(n, t.pair, 1.01 * off, t.basis, order, work), MO_BASIS_KEPT);
  assert_int_equal(mo_basis_move(n, t.pair, 0.99 * off, t.basis, order, work), MO_BASIS_MOVED);
  assert_true(part_off_diagonal(&t) < off);
  free(random), free(q), free(work);
  stop(&t);
}

/* Eigenvalues below a fifth of the damping, and below the rounding of float statistics, are 0. */
static void test_what_counts_as_nothing(void **state)
{
  (void)state;
  static const struct {
    double eps, above, below;
  } cases[] = {{1e-6, 2.01e-7, 1.99e-7}, {1, 4.78e-7, 4.76e-7}};
  for (size_t i = 0; i < 2; i++) {
    const mo_root_rule rule = {.damping = MO_DAMP_TRACE, .eps = cases[i].eps};
    double values[] = {cases[i].below, cases[i].above, 1.0};
    mo_root_damp(3, &rule, values);
    assert_true(fabs(values[1] - values[0] - cases[i].above) < 1e-15);
    assert_true(fabs(values[2] - values[0] - 1.0) < 1e-12);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_roots_by_every_method),
      cmocka_unit_test(test_qr_follows),
      cmocka_unit_test(test_ladder_of_solvers),
      cmocka_unit_test(test_cholesky_retries_with_more_damping),
      cmocka_unit_test(test_cholesky_on_hard_spectra),
      cmocka_unit_test(test_cholesky_sees_the_largest_eigenvalue),
      cmocka_unit_test(test_cholesky_on_a_long_side),
      cmocka_unit_test(test_identity_and_multiply),
      cmocka_unit_test(test_every_float_of_a_pair),
      cmocka_unit_test(test_a_basis_stays_within_the_tolerance),
      cmocka_unit_test(test_what_counts_as_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
