/* test_reference.c - why the references may be trusted: identities that the linear algebra must
 * satisfy on ordinary and degenerate matrices, and steps small enough to compute by hand. */
#include "base/random.h"
#include "check.h"
#include "reference/dense.h"
#include "reference/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double *random_matrix(size_t m, size_t n, uint64_t seed)
{
  double *a = ref_zeros(m * n);
  for (size_t i = 0; i < m * n; i++) a[i] = mo_random_normal(seed, 1, i);
  return a;
}

/* |x x^T - I|_F for x of m x n. */
static double distance_from_orthogonal(size_t m, size_t n, const double *x)
{
  double *gram = ref_zeros(m * m);
  ref_average_left(m, n, x, 0, gram);
  for (size_t i = 0; i < m; i++) gram[i * m + i] -= 1;
  const double distance = ref_norm(gram, m * m);
  free(gram);
  return distance;
}

/* Asserts a = V diag(values) V^T, V orthogonal, values ascending. */
static void check_eigh(size_t n, const double *a)
{
  double *values = ref_zeros(n), *vectors = ref_zeros(n * n), *rest = ref_copy(a, n * n);
  ref_eigh(n, a, values, vectors);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++)
      for (size_t k = 0; k < n; k++)
        rest[i * n + j] -= values[k] * vectors[i * n + k] * vectors[j * n + k];
  assert_true(ref_norm(rest, n * n) <= 1e-13 * ref_norm(a, n * n));
  assert_true(distance_from_orthogonal(n, n, vectors) < 1e-12);
  for (size_t i = 1; i < n; i++) assert_true(values[i - 1] <= values[i]);
  free(rest);
  free(vectors);
  free(values);
}

static void test_eigh(void **state)
{
  (void)state;
  enum { N = 37 };
  double a[N * N] = {0};
  check_eigh(N, a);
  check_eigh(1, &(double){-2});
  for (size_t i = 0; i < N; i++) a[i * N + i] = 3; /* one value, N times */
  check_eigh(N, a);
  for (size_t i = 0; i < N * N; i++) a[i] = 1; /* rank 1 */
  check_eigh(N, a);
  for (size_t rank = 2; rank <= N; rank += 7) {
    double *factor = random_matrix(N, rank, rank);
    ref_average_left(N, rank, factor, 0, a);
    check_eigh(N, a);
    ref_scale(a, N * N, 1e-70);
    check_eigh(N, a);
    free(factor);
  }
}

static void test_eigh_by_hand(void **state)
{
  (void)state;
  const double a[] = {2, 1, 1, 2};
  double values[2], vectors[4];
  ref_eigh(2, a, values, vectors);
  assert_true(fabs(values[0] - 1) < 1e-15 && fabs(values[1] - 3) < 1e-15);
  assert_true(fabs(fabs(vectors[1]) - sqrt(0.5)) < 1e-15);
}

static void check_qr(size_t n, const double *a)
{
  double *q = ref_zeros(n * n), *transposed = ref_zeros(n * n), *r = ref_zeros(n * n);
  ref_qr(n, a, q);
  assert_true(distance_from_orthogonal(n, n, q) < 1e-12);
  ref_transpose(n, n, q, transposed);
  ref_multiply(n, n, n, transposed, a, r);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < i; j++) assert_true(fabs(r[i * n + j]) < 1e-12);
  free(r);
  free(transposed);
  free(q);
}

static void test_qr(void **state)
{
  (void)state;
  enum { N = 20 };
  double *a = random_matrix(N, N, 3), zero[N * N] = {0};
  check_qr(N, a);
  for (size_t i = 0; i < N; i++) a[i * N + 4] = a[i * N + 2]; /* two equal columns */
  check_qr(N, a);
  check_qr(N, zero);
  check_qr(1, &(double){-5});
  free(a);
}

static void check_polar(size_t m, size_t n)
{
  double *a = random_matrix(m, n, m + n), *p = ref_zeros(m * n), *t = ref_zeros(m * n);
  double *h = ref_zeros(n * n), *values = ref_zeros(n), *vectors = ref_zeros(n * n);
  ref_polar(m, n, a, 1e-6, p);
  ref_transpose(m, n, p, t);
  assert_true(distance_from_orthogonal(m < n ? m : n, m < n ? n : m, m < n ? p : t) < 1e-12);
  ref_multiply(n, m, n, t, a, h); /* a = p h with h symmetric and not negative */
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) assert_true(fabs(h[i * n + j] - h[j * n + i]) < 1e-12);
  ref_eigh(n, h, values, vectors);
  assert_true(values[0] > -1e-12);
  free(vectors);
  free(values);
  free(h);
  free(t);
  free(p);
  free(a);
}

static void test_polar(void **state)
{
  (void)state;
  check_polar(13, 29);
  check_polar(29, 13);
  check_polar(17, 17);
  const double by_hand[] = {0, 2, -3, 0}, rank1[] = {3, 3, 4, 4}, zero[4] = {0};
  double p[4];
  ref_polar(2, 2, by_hand, 1e-6, p);
  assert_true(fabs(p[1] - 1) + fabs(p[2] + 1) + fabs(p[0]) + fabs(p[3]) < 1e-15);
  ref_polar(2, 2, rank1, 1e-6, p);
  assert_true(fabs(p[0] - 0.6 * sqrt(0.5)) < 1e-14 && fabs(p[3] - 0.8 * sqrt(0.5)) < 1e-14);
  ref_polar(2, 2, zero, 1e-6, p);
  assert_true(p[0] == 0 && p[3] == 0);
}

/* How far NS(x) is from the polar factor of x, as a part of its norm. */
static double residual(size_t m, size_t n, const char *set)
{
  double *x = random_matrix(m, n, 5), *ns = ref_zeros(m * n), *polar = ref_zeros(m * n);
  ref_optimizer *r = ref_create("muon", m, n, set);
  ref_newton_schulz(r, x, ns);
  ref_polar(m, n, x, 1e-6, polar);
  for (size_t i = 0; i < m * n; i++) ns[i] -= polar[i];
  const double part = ref_norm(ns, m * n) / ref_norm(polar, m * n);
  ref_free(r);
  free(polar);
  free(ns);
  free(x);
  return part;
}

static void test_newton_schulz_approaches_the_polar_factor(void **state)
{
  (void)state;
  const size_t shapes[][2] = {{12, 30}, {30, 12}};
  for (size_t i = 0; i < 2; i++) {
    const size_t m = shapes[i][0], n = shapes[i][1];
    assert_true(residual(m, n, "newton_schulz=you5") < 0.05);
    assert_true(residual(m, n, "newton_schulz=jordan5") < 0.35);
    assert_true(residual(m, n, "newton_schulz=polar5") < 0.15);
    assert_true(residual(m, n, "newton_schulz=exact") < 1e-7);
  }
}

/* NS of a diagonal matrix, one singular value at a time. */
static double scalar_you5(double x)
{
  static const double c[5][3] = {{4.0848, -6.8946, 2.9270},
                                 {3.9505, -6.3029, 2.6377},
                                 {3.7418, -5.5913, 2.3037},
                                 {2.8769, -3.1427, 1.2046},
                                 {2.8366, -3.0525, 1.2012}};
  for (size_t i = 0; i < 5; i++)
    x = c[i][0] * x + c[i][1] * x * x * x + c[i][2] * x * x * x * x * x;
  return x;
}

static void one_step(const char *algorithm, const char *options, const double *g, double *w)
{
  ref_optimizer *r = ref_create(algorithm, 2, 2, options);
  ref_step(r, w, g);
  ref_free(r);
}

static void assert_diagonal(const double *w, double first, double second)
{
  assert_true(fabs(w[0] - first) < 1e-12 && fabs(w[3] - second) < 1e-12);
  assert_true(fabs(w[1]) < 1e-12 && fabs(w[2]) < 1e-12);
}

static void test_muon_by_hand(void **state)
{
  (void)state;
  const double g[] = {3, 0, 0, -4}, norm = 1.95 * 5 + 1e-7; /* nesterov: X0 = (1 + mu)*G */
  double w[4] = {1, 0, 0, 1};
  one_step("muon", "lr=0.5 weight_decay=0.1", g, w);
  assert_diagonal(w, 0.95 - 0.5 * scalar_you5(1.95 * 3 / norm),
                  0.95 + 0.5 * scalar_you5(1.95 * 4 / norm));
}

static void check_mousse(const char *options, double eps, double alpha, int graft)
{
  const double g[] = {3, 4}, full[] = {3, 0, 0, 4};
  double w[4] = {0}, p[2], x[2], u[2];
  for (size_t i = 0; i < 2; i++) {
    p[i] = pow(2 * g[i] * g[i] / (25 + eps) + 2 * eps, -alpha);
    x[i] = p[i] * g[i] * p[i];
  }
  const double norm = hypot(x[0], x[1]) + 1e-7;
  for (size_t i = 0; i < 2; i++) x[i] = scalar_you5(x[i] / norm);
  for (size_t i = 0; i < 2; i++) u[i] = p[i] * x[i] * p[i];
  const double scale = graft ? hypot(x[0], x[1]) / hypot(u[0], u[1]) : 1;
  one_step("mousse", options, full, w);
  assert_diagonal(w, -scale * u[0], -scale * u[1]);
}

static void test_mousse_by_hand(void **state)
{
  (void)state;
  check_mousse("lr=1", 1e-5, 0.125, 1);
  check_mousse("lr=1 graft=0 alpha=0.25 eps=0.1", 0.1, 0.25, 0);
}

static void test_elementwise_by_hand(void **state)
{
  (void)state;
  const double g[] = {2, 0, 0, -5};
  double w[4] = {0};
  one_step("adamw", "lr=0.5 eps=1", g, w);
  assert_diagonal(w, -0.5 * 2 / 3, 0.5 * 5 / 6);
  memset(w, 0, sizeof w);
  one_step("lion", "lr=0.5", g, w);
  assert_diagonal(w, -0.5, 0.5);
  w[0] = w[3] = 1;
  one_step("sgd", "lr=0.5 nesterov=1 weight_decay=0.2", g, w);
  assert_diagonal(w, 0.9 - 0.5 * 1.9 * 2, 0.9 + 0.5 * 1.9 * 5);
}

static void test_shampoo_by_hand(void **state)
{
  (void)state;
  const double g[] = {2, 0, 0, -5};
  double w[4] = {0};
  one_step("shampoo", "lr=0.5 eps=0 graft=none", g, w); /* g / (g^2)^(1/4) / (g^2)^(1/4) */
  assert_diagonal(w, -0.5, 0.5);
  memset(w, 0, sizeof w);
  one_step("shampoo", "lr=1 eps=0 graft=sgd", g, w);
  assert_diagonal(w, -sqrt(29.0 / 2), sqrt(29.0 / 2));
}

static void test_soap_by_hand(void **state)
{
  (void)state;
  const double g[] = {2, 0, 0, -5};
  double w[4] = {1, 0, 0, 1};
  ref_optimizer *r = ref_create("soap", 2, 2, "lr=0.5 eps=0 weight_decay=0.1 refresh_every=1");
  r->part[1][1] = r->part[1][2] = 1; /* the gradient is 0 there: keep 0/0 out */
  ref_step(r, w, g);
  assert_diagonal(w, 1, 1); /* only makes the basis */
  ref_step(r, w, g);
  assert_diagonal(w, (1 - 0.5) * 0.95, (1 + 0.5) * 0.95);
  ref_free(r);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_eigh),
      cmocka_unit_test(test_eigh_by_hand),
      cmocka_unit_test(test_qr),
      cmocka_unit_test(test_polar),
      cmocka_unit_test(test_newton_schulz_approaches_the_polar_factor),
      cmocka_unit_test(test_muon_by_hand),
      cmocka_unit_test(test_mousse_by_hand),
      cmocka_unit_test(test_elementwise_by_hand),
      cmocka_unit_test(test_shampoo_by_hand),
      cmocka_unit_test(test_soap_by_hand),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
