/* test_family_by_hand.c - steps of the spectral family's references that are known otherwise: by
 * hand, from a limit, or from what the method is meant to find. */
#include "base/random.h"
#include "check.h"
#include "reference/dense.h"
#include "reference/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 6 };

typedef struct shape {
  size_t rows, cols;
} shape;
static const shape wide = {6, 11}, tall = {11, 6};

static double *normal(size_t count, uint64_t seed)
{
  double *x = ref_zeros(count);
  for (size_t i = 0; i < count; i++) x[i] = mo_random_normal(seed, 3, i);
  return x;
}

static double difference(size_t count, const double *a, const double *b)
{
  double *d = ref_copy(a, count);
  for (size_t i = 0; i < count; i++) d[i] -= b[i];
  const double part = ref_norm(d, count) / ref_norm(b, count);
  free(d);
  return part;
}

/* One step from 0 with a gradient given by the caller; the weights are returned. */
static double *one_step(const char *algorithm, const char *options, shape s, const double *g)
{
  ref_optimizer *r = ref_create(algorithm, s.rows, s.cols, options);
  double *w = ref_zeros(s.rows * s.cols);
  ref_step(r, w, g);
  ref_free(r);
  return w;
}

/* Every element of sign(O) times .2: no memory of the second moment. */
static void test_adamuon_without_memory(void **state)
{
  (void)state;
  double *g = normal(wide.rows * wide.cols, 1);
  double *w = one_step("adamuon", "beta2=0 lr=1 weight_decay=0", wide, g);
  for (size_t i = 0; i < wide.rows * wide.cols; i++) assert_true(fabs(fabs(w[i]) - 0.2) < 1e-6);
  free(w);
  free(g);
}

static void test_normuon_without_memory(void **state)
{
  (void)state;
  double *g = normal(tall.rows * tall.cols, 1);
  double *w = one_step("normuon", "beta2=0 lr=1", tall, g);
  const double first = ref_norm(w, tall.cols);
  for (size_t i = 1; i < tall.rows; i++)
    assert_true(fabs(ref_norm(w + i * tall.cols, tall.cols) - first) < 1e-8 * first);
  free(w);
  free(g);
}

/* U = <G,O> O: G itself where its rank is 1, and where all singular values are equal that times
 * their number; the direction is Muon's. */
static void test_polargrad_by_hand(void **state)
{
  (void)state;
  const size_t m = wide.rows, n = wide.cols;
  double *a = normal(m, 5), *b = normal(n, 6), *g = ref_zeros(m * n), *o = ref_zeros(m * n);
  for (size_t i = 0; i < m * n; i++) g[i] = a[i / n] * b[i % n];
  double *w = one_step("polargrad", "mu=0 lr=1", wide, g);
  ref_scale(w, m * n, -1);
  assert_true(difference(m * n, w, g) < 1e-6);
  free(w);
  double *x = normal(m * n, 7);
  ref_polar(m, n, x, 1e-6, o);
  ref_scale(o, m * n, 3);
  w = one_step("polargrad", "mu=0 lr=1 order=polar_first", wide, o);
  ref_scale(w, m * n, -1 / (double)m);
  assert_true(difference(m * n, w, o) < 1e-6);
  free(w);
  w = one_step("polargrad", "", wide, x);
  double *muon =
      one_step("muon", "newton_schulz=exact weight_decay=0 nesterov=0 shape=none", wide, x);
  ref_rescale(m * n, ref_norm(muon, m * n), w);
  assert_true(difference(m * n, w, muon) < 1e-6);
  free(muon);
  free(w);
  free(x);
  free(o);
  free(g);
  free(b);
  free(a);
}

/* With frozen factors the whitened momentum of fismo is the whitening of mousse's. */
static void test_fismo_with_frozen_factors(void **state)
{
  (void)state;
  const size_t m = wide.rows, n = wide.cols;
  const char *const common =
      "beta=1 refresh_every=1000 weight_decay=0 graft=0 lr=0.02 newton_schulz=exact";
  ref_optimizer *fismo = ref_create("fismo", m, n, common);
  ref_optimizer *mousse = ref_create("mousse", m, n, common);
  double *x = normal(m * 2 * m, 8), *y = normal(n * 2 * n, 9), *s = ref_zeros(m * m);
  double *r = ref_zeros(n * n), *w = ref_zeros(m * n), *expected = ref_zeros(m * n);
  ref_average_left(m, 2 * m, x, 0, s);
  ref_average_left(n, 2 * n, y, 0, r);
  ref_power(m, s, -0.5, 0, 0, fismo->part[5]);
  ref_power(n, r, -0.5, 0, 0, fismo->part[6]);
  ref_identity(m, fismo->part[1]);
  ref_identity(n, fismo->part[2]);
  memcpy(mousse->part[3], fismo->part[5], m * m * sizeof *s);
  memcpy(mousse->part[4], fismo->part[6], n * n * sizeof *r);
  fismo->t = mousse->t = 1;
  for (uint64_t t = 1; t <= STEPS; t++) {
    double *g = normal(m * n, t);
    ref_step(fismo, w, g);
    ref_step(mousse, expected, g);
    free(g);
  }
  assert_true(difference(m * n, w, expected) < 1e-5);
  free(expected);
  free(w);
  free(r);
  free(s);
  free(y);
  free(x);
  ref_free(mousse);
  ref_free(fismo);
}

/* Gradients that are always diag(a)*E*diag(b) with E of ones and signs that average out: the
 * eigenvalues of klshampoo must go to a^2 and b^2 up to one factor. */
static void test_klshampoo_finds_the_factors(void **state)
{
  (void)state;
  enum { N = 4, LONG = 400 };
  const double a[N] = {4, 2, 1, 0.5}, b[N] = {3, 1, 0.7, 0.2};
  ref_optimizer *r = ref_create("klshampoo", N, N, "lr=1e-9 beta=0.95");
  double w[N * N] = {0}, g[N * N];
  for (uint64_t t = 1; t <= LONG; t++) {
    for (size_t i = 0; i < N * N; i++)
      g[i] = a[i / N] * b[i % N] * (mo_random_uniform(3, t, i) < 0.5 ? -1 : 1);
    ref_step(r, w, g);
  }
  for (size_t i = 1; i < N; i++) {
    const double *left = r->part[6], *right = r->part[7];
    assert_true(fabs(log(left[i] / left[0] / (a[i] * a[i] / a[0] / a[0]))) < 0.5);
    assert_true(fabs(log(right[i] / right[0] / (b[i] * b[i] / b[0] / b[0]))) < 0.5);
  }
  ref_free(r);
}

/* kfac with diagonal covariances, one step by hand. */
static void test_kfac_by_hand(void **state)
{
  (void)state;
  const double g[] = {1, 2, 3, 4}, outputs[] = {2, 0, 0, 3}, inputs[] = {5, 0, 0, 7};
  double w[4] = {0};
  ref_optimizer *r = ref_create("kfac", 2, 2, "lr=1 beta=0 eps=1 kl_clip=0 refresh_every=1");
  r->input[0] = outputs;
  r->input[1] = inputs;
  ref_step(r, w, g);
  const double expected[] = {-1.0 / 11, -2.0 / 15, -3.0 / 16, -4.0 / 22};
  for (size_t i = 0; i < 4; i++) assert_true(fabs(w[i] - expected[i]) < 1e-14);
  ref_free(r);
  r = ref_create("kfac", 2, 2, "lr=1 beta=0 eps=1 kl_clip=0.01");
  double clipped[4] = {0}, dot = 0;
  r->input[0] = outputs;
  r->input[1] = inputs;
  ref_step(r, clipped, g);
  for (size_t i = 0; i < 4; i++) dot -= expected[i] * g[i];
  for (size_t i = 0; i < 4; i++)
    assert_true(fabs(clipped[i] - sqrt(0.01 / dot) * expected[i]) < 1e-14);
  ref_free(r);
}

/* A momentum of low rank survives the random projection of limuon; and it is at most `rank`. */
static void test_limuon_projection(void **state)
{
  (void)state;
  const size_t m = 20, n = 30;
  double *a = normal(m * 2, 1), *b = normal(2 * n, 2), *g = ref_zeros(m * n);
  double *w = ref_zeros(m * n);
  ref_multiply(m, 2, n, a, b, g);
  ref_optimizer *r = ref_create("limuon", m, n, "rank=2");
  ref_step(r, w, g);
  assert_true(difference(m * n, r->part[0], g) < 1e-12);
  ref_free(r);
  r = ref_create("limuon", m, n, "rank=3");
  double *full = normal(m * n, 3), *gram = ref_zeros(m * m), *values = ref_zeros(m);
  double *vectors = ref_zeros(m * m);
  ref_step(r, w, full);
  ref_average_left(m, n, r->part[0], 0, gram);
  ref_eigh(m, gram, values, vectors);
  assert_true(values[m - 4] < 1e-10 * values[m - 1] && values[m - 3] > 1e-3 * values[m - 1]);
  ref_free(r);
  free(vectors);
  free(values);
  free(gram);
  free(full);
  free(w);
  free(g);
  free(b);
  free(a);
}

/* An eigenbasis whose null space is fixed by the rule: it does not depend on how the rest was
 * found, and a unit vector that spans it is taken as it is. */
static void test_eigenbasis(void **state)
{
  (void)state;
  enum { N = 5 };
  double s[N * N] = {0}, q[N * N];
  s[0] = 2;
  s[N * 3 + 3] = 7;
  ref_eigenbasis(N, s, q);
  const double expected[N * N] = {0, 1, 0, 0, 0, /* column 0 is axis 3, column 1 axis 0 */
                                  0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  for (size_t i = 0; i < N * N; i++) assert_true(fabs(fabs(q[i]) - expected[i]) < 1e-12);
  double *x = normal(9 * 4, 12), *gram = ref_zeros(81), *basis = ref_zeros(81);
  double *again = ref_zeros(81);
  ref_average_left(9, 4, x, 0, gram);
  ref_eigenbasis(9, gram, basis);
  for (size_t i = 0; i < 36; i++) x[i] *= 1 + 1e-9 * (double)i; /* rounding, enlarged */
  ref_average_left(9, 4, x, 0, gram);
  ref_eigenbasis(9, gram, again);
  for (size_t i = 0; i < 9; i++)
    for (size_t j = 4; j < 9; j++)
      assert_true(fabs(basis[i * 9 + j] - again[i * 9 + j]) < 1e-6);
  free(again);
  free(basis);
  free(gram);
  free(x);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_adamuon_without_memory),
      cmocka_unit_test(test_normuon_without_memory),
      cmocka_unit_test(test_polargrad_by_hand),
      cmocka_unit_test(test_fismo_with_frozen_factors),
      cmocka_unit_test(test_klshampoo_finds_the_factors),
      cmocka_unit_test(test_kfac_by_hand),
      cmocka_unit_test(test_limuon_projection),
      cmocka_unit_test(test_eigenbasis),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
