/* test_lanczos.c - spectra in outline, against spectra that are known, and as an observer is told
 * them. */
#include "base/random.h"
#include "check.h"
#include "linalg/lanczos.h"

#include <mousse/mousse.h>

#include <math.h>
#include <string.h>

enum { LARGE = 400 };

typedef struct diagonal {
  size_t n;
  double values[LARGE];
} diagonal;

static void multiply(const void *matrix, const float *x, float *y)
{
  const diagonal *d = matrix;
  for (size_t i = 0; i < d->n; i++) y[i] = (float)(d->values[i] * (double)x[i]);
}

static bool outline_of(const diagonal *d, mo_outline *o)
{
  static float work[3 * LARGE];
  return mo_lanczos(d->n, multiply, d, work, o);
}

static void assert_near(double value, double wanted, double part)
{
  if (!(fabs(value - wanted) <= part * fabs(wanted)))
    fail_msg("%.9g is not within %g of %.9g", value, part, wanted);
}

/* As many steps as eigenvalues: all of them are found. */
static void small_ones_are_exact(void **state)
{
  (void)state;
  for (size_t n = 1; n <= 8; n++) {
    diagonal d = {.n = n};
    mo_outline o;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
      d.values[i] = (double)(1 + (i * 3) % n);
      sum += d.values[i];
      squares += d.values[i] * d.values[i];
    }
    assert_true(outline_of(&d, &o));
    assert_near(o.lowest, n % 3 == 0 ? o.lowest : 1, 1e-4);
    assert_near(o.rms, sqrt(squares) / (double)n, 1e-4);
    assert_near(o.effective_rank, sum * sum / squares, 1e-4);
    assert_true(o.lowest <= o.q10 && o.q10 <= o.q50 && o.q50 <= o.q90 && o.q90 <= o.highest);
  }
}

/* Eigenvalues of one size, as those of a matrix that is nearly a multiple of the identity: each of
 * them is found, although what they have in common says nothing. */
static void near_the_identity(void **state)
{
  (void)state;
  for (size_t n = 3; n <= 9; n += 2) {
    diagonal d = {.n = n};
    mo_outline o;
    for (size_t i = 0; i < n; i++) d.values[i] = 100 + (double)i;
    assert_true(outline_of(&d, &o));
    assert_near(o.lowest, 100, 1e-5);
    assert_near(o.highest, d.values[n - 1], 1e-5);
    assert_near(o.q50, d.values[n / 2], 1e-5);
    assert_near(o.q90, d.values[n - 1], 1e-5);
  }
}

/* A multiple of a matrix has that multiple of its spectrum. */
static void the_scale_does_not_matter(void **state)
{
  (void)state;
  static const double scales[] = {0x1p-40, 0x1p-10, 0x1p10, 0x1p40};
  diagonal d = {.n = LARGE}, scaled = {.n = LARGE};
  mo_outline o, of_scaled;
  for (size_t i = 0; i < LARGE; i++) d.values[i] = 1 + (double)(i * i % 97);
  assert_true(outline_of(&d, &o));
  for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
    for (size_t i = 0; i < LARGE; i++) scaled.values[i] = scales[s] * d.values[i];
    assert_true(outline_of(&scaled, &of_scaled));
    assert_near(of_scaled.highest, scales[s] * o.highest, 1e-9);
    assert_near(of_scaled.q50, scales[s] * o.q50, 1e-9);
    assert_near(of_scaled.effective_rank, o.effective_rank, 1e-9);
  }
}

/* From 1e-3 to 1, evenly by their logarithms: quantiles within a factor, the largest closely. */
static void large_ones_in_outline(void **state)
{
  diagonal d = {.n = LARGE};
  mo_outline o;
  double sum = 0, squares = 0;
  (void)state;
  for (size_t i = 0; i < LARGE; i++) {
    d.values[i] = pow(10, -3 + 3 * (double)((i * 7) % LARGE) / (LARGE - 1));
    sum += d.values[i];
    squares += d.values[i] * d.values[i];
  }
  assert_true(outline_of(&d, &o));
  assert_near(o.highest, 1, 0.03);
  assert_true(o.lowest > 0.9e-3 && o.lowest < 1e-2);
  assert_near(log10(o.q90), -0.3, 0.7);
  assert_near(log10(o.q50), -1.5, 0.25);
  assert_true(o.q10 < 0.02);
  assert_near(o.effective_rank, sum * sum / squares, 1e-3); /* signs see a diagonal exactly */
  assert_near(o.rms, sqrt(squares) / LARGE, 1e-3);
}

static void odd_ones(void **state)
{
  diagonal d = {.n = 50};
  mo_outline o;
  (void)state;
  assert_false(outline_of(&d, &o)); /* zeros */
  d.values[3] = 5;
  assert_true(outline_of(&d, &o)); /* of rank 1 */
  assert_near(o.highest, 5, 1e-4);
  assert_near(o.effective_rank, 1, 1e-3);
  assert_true(fabs(o.q50) < 1e-5);
  d.values[7] = NAN;
  assert_false(outline_of(&d, &o));
  d.n = 0;
  assert_false(outline_of(&d, &o));
}

enum { ROWS = 24, COLS = 40, ALL = ROWS * COLS };

typedef struct told {
  double momentum_max, momentum_rank, left_max, left_q50;
} told;

static void take(void *user, const char *matrix, const char *quantity, double value)
{
  told *t = user;
  (void)matrix;
  if (strcmp(quantity, "momentum_max") == 0) t->momentum_max = value;
  if (strcmp(quantity, "momentum_effective_rank") == 0) t->momentum_rank = value;
  if (strcmp(quantity, "left_max") == 0) t->left_max = value;
  if (strcmp(quantity, "left_q50") == 0) t->left_q50 = value;
}

/* The largest eigenvalue of G G^T, and (trace)^2 over its sum of squares, in double. */
static void spectrum_of(const float *g, double *largest, double *rank)
{
  double gram[ROWS][ROWS], x[ROWS], y[ROWS], trace = 0, squares = 0;
  for (size_t i = 0; i < ROWS; i++)
    for (size_t k = 0; k < ROWS; k++) {
      gram[i][k] = 0;
      for (size_t j = 0; j < COLS; j++)
        gram[i][k] += (double)g[i * COLS + j] * (double)g[k * COLS + j];
      squares += gram[i][k] * gram[i][k];
      trace += i == k ? gram[i][k] : 0;
    }
  for (size_t i = 0; i < ROWS; i++) x[i] = 1 + (double)i / ROWS;
  for (int turn = 0; turn < 2000; turn++) {
    double norm = 0;
    for (size_t i = 0; i < ROWS; i++) {
      y[i] = 0;
      for (size_t k = 0; k < ROWS; k++) y[i] += gram[i][k] * x[k];
      norm += y[i] * y[i];
    }
    *largest = sqrt(norm);
    for (size_t i = 0; i < ROWS; i++) x[i] = y[i] / sqrt(norm);
  }
  *rank = trace * trace / squares;
}

/* At the first step momentum and statistics are made of the one gradient. Between refreshes
 * there is news, too, and who looks changes nothing. */
static void observers_are_told(void **state)
{
  float value[2][ALL], grad[ALL];
  told t = {0};
  double largest = 0, rank = 0;
  mousse_optimizer *opt[2];
  int group = 0;
  (void)state;
  for (size_t i = 0; i < ALL; i++) {
    value[0][i] = value[1][i] = (float)mo_random_uniform(5, 1, i);
    grad[i] = (float)(mo_random_uniform(5, 2, i) - 0.4) * (i % COLS < 8 ? 4.0f : 1.0f);
  }
  spectrum_of(grad, &largest, &rank);
  for (size_t k = 0; k < 2; k++) {
    assert_int_equal(mousse_create(NULL, &opt[k]), MOUSSE_OK);
    assert_int_equal(mousse_add_group(opt[k], "mousse", &group), MOUSSE_OK);
    assert_int_equal(mousse_add_param(opt[k], group, "w", ROWS, COLS, value[k], grad),
                     MOUSSE_OK);
    assert_int_equal(mousse_prepare(opt[k]), MOUSSE_OK);
  }
  for (int step = 0; step < 3; step++) {
    t = (told){0};
    mousse_observe(opt[0], take, &t);
    assert_int_equal(mousse_step(opt[0]), MOUSSE_OK);
    assert_int_equal(mousse_step(opt[1]), MOUSSE_OK);
    assert_memory_equal(value[0], value[1], sizeof value[0]);
    assert_true(t.left_max > 0 && t.left_q50 > 0 && t.left_q50 < t.left_max);
    const double grown = t.momentum_max / largest; /* the same gradient, added up or averaged */
    assert_true(grown > 1e-4 && grown < 10);
    assert_true(t.momentum_rank > rank / 3 &&
                t.momentum_rank < 3 * rank); /* one vector's view */
    if (step == 0) assert_true(t.momentum_max <= 1.001 * largest);
  }
  for (size_t k = 0; k < 2; k++) mousse_destroy(opt[k]);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_ones_are_exact),      cmocka_unit_test(large_ones_in_outline),
      cmocka_unit_test(the_scale_does_not_matter), cmocka_unit_test(odd_ones),
      cmocka_unit_test(near_the_identity),         cmocka_unit_test(observers_are_told)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
