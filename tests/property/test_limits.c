/* test_limits.c - what members of the family become in limits that no option reaches: by gradients
 * that are made for it, or by state that is written between steps. Each is an equality, with another
 * member or with a formula in double. test_limits_kl.c has those of KL-Shampoo. */
#include "property/limits.h"
#include "reference/dense.h"
#include "reference/parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Both optimizers on the same gradients; gradient 1 is 0. */
static void assert_alike_after_nothing(rig *a, rig *b, double tolerance, const char *what)
{
  const size_t count = a->params[0].count;
  double *start = to_double(b->params[0].value, count);
  for (uint64_t t = 1; t <= STEPS; t++) {
    gradient(&a->params[0], FULL, t);
    gradient(&b->params[0], FULL, t);
    if (t == 1) memset(a->params[0].grad, 0, count * sizeof(float));
    if (t == 1) memset(b->params[0].grad, 0, count * sizeof(float));
    limit_step(a);
    limit_step(b);
    if (t == 1 && mousse_state_count(a->opt, "p0", "left_basis") > 0) limit_no_basis(a);
  }
  double *expected = to_double(b->params[0].value, count);
  limit_assert_near(a, expected, start, tolerance, what);
  free(expected);
  free(start);
}

/* SOAP-Muon in no other basis divides each element of the momentum by its RMS, as Muon^2 does with
 * that of the gradient: without momentum they are one. */
static void test_soapmuon_without_a_basis(void **state)
{
  (void)state;
  for (size_t s = 0; s < LIMIT_SHAPES; s++) {
    rig a, b;
    rig_single(&a, NULL, "soapmuon", limit_shapes[s][0], limit_shapes[s][1],
               "mu=0 eps=0 refresh_every=1000 newton_schulz=exact lr=0.02");
    rig_single(&b, NULL, "muon2", limit_shapes[s][0], limit_shapes[s][1],
               "mu=0 beta2=0.9 newton_schulz=exact lr=0.02 weight_decay=0");
    assert_alike_after_nothing(&a, &b, 1e-3, "soapmuon in the basis I is not muon2");
    rig_stop(&b);
    rig_stop(&a);
  }
}

/* SOAP-Muon without Newton-Schulz is RMSprop in the basis: SOAP without a first moment. */
static void test_soapmuon_without_newton_schulz(void **state)
{
  (void)state;
  for (size_t s = 0; s < LIMIT_SHAPES; s++) {
    rig a, b;
    rig_single(&a, NULL, "spectral", limit_shapes[s][0], limit_shapes[s][1],
               "inner=rms mu=0 beta=0.9 beta2=0.9 refresh=qr refresh_every=3 ortho=none "
               "graft=0 weight_decay=0 eps=1e-10");
    rig_single(&b, NULL, "soap", limit_shapes[s][0], limit_shapes[s][1],
               "beta1=0 beta2=0.9 bias_correction=0 refresh_every=3 weight_decay=0 lr=0.02");
    for (uint64_t t = 1; t <= 10; t++) {
      gradient(&a.params[0], FULL, t);
      gradient(&b.params[0], FULL, t);
      if (t > 2) /* there a single element meets the floors, which differ */
        limit_assert_direction(&a, &b, 1e-4, "soapmuon without Newton-Schulz is not soap");
      else
        limit_step(&a), limit_step(&b);
    }
    rig_stop(&b);
    rig_stop(&a);
  }
}

/* With v_ij = (lambda_i lambda_j)^(2 alpha) it is Mousse without its outer factor. */
static void test_soapmuon_with_the_eigenvalues(void **state)
{
  (void)state;
  enum { N = 16 };
  rig a, b;
  float root[N * N];
  rig_single(&a, NULL, "spectral", N, N,
             "inner=rms beta=0.5 beta2=0.999999 eps=1e-10 refresh=qr refresh_every=1000 "
             "newton_schulz=exact");
  rig_single(&b, NULL, "spectral", N, N,
             "inner=kron beta=0.5 alpha=0.2 eps=1e-10 refresh=eigh refresh_every=1000 outer=0 "
             "graft=0 newton_schulz=exact");
  for (uint64_t t = 1; t <= 6; t++) {
    gradient(&a.params[0], FULL, t);
    gradient(&b.params[0], FULL, t);
    if (t == 1) { /* its smallest singular value is not small, so that float knows it */
      for (size_t i = 0; i < N; i++) a.params[0].grad[i * (N + 1)] += 12;
      for (size_t i = 0; i < N; i++) b.params[0].grad[i * (N + 1)] += 12;
      limit_step(&a), limit_step(&b);
      double *left = limit_eigenvalues(&a, "left", "left_basis", N);
      double *right = limit_eigenvalues(&a, "right", "right_basis", N);
      for (size_t i = 0; i < (size_t)N * N; i++)
        root[i] = (float)pow(left[i / N] * right[i % N], 0.2);
      free(right);
      free(left);
      continue;
    }
    limit_write(&a, "root_second_moment", root, (size_t)N * N);
    limit_assert_direction(&a, &b, 1e-3, "soapmuon with eigenvalues is not mousse");
  }
  rig_stop(&b);
  rig_stop(&a);
}

/* Muon^2 without Newton-Schulz and outer factor is RMSprop, with a momentum Adam without bias
 * correction. */
static void test_muon2_without_newton_schulz(void **state)
{
  (void)state;
  static const char *const options[2] = {
      "inner=diag alpha=0.5 eps=1e-8 ortho=none outer=0 graft=0 shape=none nesterov=0 "
      "beta2=0.95 weight_decay=0 lr=0.001 mu=0",
      "inner=diag alpha=0.5 eps=1e-8 ortho=none outer=0 graft=0 shape=none nesterov=0 "
      "beta2=0.95 weight_decay=0 lr=0.001 mu=0.9"};
  for (size_t s = 0; s < 2 * LIMIT_SHAPES; s++) {
    const double mu = s % 2 == 0 ? 0 : 0.9;
    rig r;
    rig_single(&r, NULL, "spectral", limit_shapes[s / 2][0], limit_shapes[s / 2][1],
               options[s % 2]);
    rig_param *p = &r.params[0];
    double *start = to_double(p->value, p->count), *w = ref_copy(start, p->count);
    double *m = ref_zeros(p->count), *v = ref_zeros(p->count);
    for (uint64_t t = 1; t <= STEPS; t++) {
      gradient(p, FULL, t);
      limit_step(&r);
      for (size_t i = 0; i < p->count; i++) {
        const double g = (double)p->grad[i];
        m[i] = mu * m[i] + g;
        v[i] = 0.95 * v[i] + 0.05 * g * g;
        w[i] -= 0.001 * m[i] / (sqrt(v[i]) + 1e-8);
      }
    }
    limit_assert_near(&r, w, start, 1e-4, "muon2 without Newton-Schulz is not RMSprop");
    free(v);
    free(m);
    free(w);
    free(start);
    rig_stop(&r);
  }
}

/* SOAP without a rotated side is Adam, a step later. */
static void test_soap_without_a_basis(void **state)
{
  (void)state;
  for (size_t s = 0; s < LIMIT_SHAPES; s++) {
    rig soap, adam;
    rig_single(&soap, NULL, "soap", limit_shapes[s][0], limit_shapes[s][1],
               "max_precond_dim=1 beta1=0.9 beta2=0.95 weight_decay=0 lr=0.01");
    rig_single(&adam, NULL, "adamw", limit_shapes[s][0], limit_shapes[s][1],
               "beta1=0.9 beta2=0.95 weight_decay=0 lr=0.01");
    double *start = to_double(adam.params[0].value, adam.params[0].count);
    for (uint64_t t = 1; t <= STEPS; t++) {
      gradient(&soap.params[0], FULL, t);
      limit_step(&soap);
      if (t == 1) continue;
      gradient(&adam.params[0], FULL, t);
      limit_step(&adam);
    }
    double *expected = to_double(adam.params[0].value, adam.params[0].count);
    limit_assert_near(&soap, expected, start, 1e-4, "soap without a basis is not adamw");
    free(expected);
    free(start);
    rig_stop(&adam);
    rig_stop(&soap);
  }
}

/* Rows, or columns, that are of equal norm are left alone by MuonEq; signs by AdaMuon's sign. */
static void test_equal_lines(void **state)
{
  (void)state;
  static const char *const options[3] = {"mu=0 inner=rows", "mu=0 inner=columns",
                                         "mu=0 inner=sign"};
  for (size_t s = 0; s < 3 * LIMIT_SHAPES; s++) {
    rig a, b;
    rig_single(&a, NULL, "spectral", limit_shapes[s / 3][0], limit_shapes[s / 3][1],
               options[s % 3]);
    rig_single(&b, NULL, "muon", limit_shapes[s / 3][0], limit_shapes[s / 3][1], "mu=0");
    const size_t count = a.params[0].count;
    double *start = to_double(b.params[0].value, count);
    for (uint64_t t = 1; t <= 5; t++) {
      gradient(&a.params[0], FULL, t);
      for (size_t i = 0; i < count; i++)
        a.params[0].grad[i] = b.params[0].grad[i] = a.params[0].grad[i] < 0 ? -1.0f : 1.0f;
      limit_step(&a);
      limit_step(&b);
    }
    double *expected = to_double(b.params[0].value, count);
    limit_assert_near(&a, expected, start, 1e-4, options[s % 3]);
    free(expected);
    free(start);
    rig_stop(&b);
    rig_stop(&a);
  }
}

/* The first step of Dion2 and SUMO, without any memory: the orthogonalisers topk and low_rank. */
static void test_parts_of_the_lines_and_directions(void **state)
{
  (void)state;
  static const char *const pairs[2][3] = {{"dion2",
                                           "fraction=0.3 newton_schulz=you5 weight_decay=0",
                                           "mu=0 ortho=topk fraction=0.3 weight_decay=0"},
                                          {"sumo", "rank=5 weight_decay=0",
                                           "mu=0 ortho=low_rank rank=5 newton_schulz=exact "
                                           "weight_decay=0"}};
  for (size_t s = 0; s < 2 * LIMIT_SHAPES; s++) {
    const size_t *shape = limit_shapes[s / 2];
    rig a, b;
    rig_single(&a, NULL, "spectral", shape[0], shape[1], pairs[s % 2][2]);
    rig_single(&b, NULL, pairs[s % 2][0], shape[0], shape[1], pairs[s % 2][1]);
    gradient(&a.params[0], FULL, 4);
    gradient(&b.params[0], FULL, 4);
    limit_assert_direction(&a, &b, 1e-4, pairs[s % 2][2]);
    rig_stop(&b);
    rig_stop(&a);
  }
}

/* MuonEq is Muon of gradients whose rows, or columns, have been brought to one norm. */
static void test_muoneq_is_muon_of_equal_lines(void **state)
{
  (void)state;
  for (size_t s = 0; s < 2 * LIMIT_SHAPES; s++) {
    const size_t m = limit_shapes[s / 2][0], n = limit_shapes[s / 2][1];
    const bool rows = s % 2 == 0;
    rig a, b;
    rig_single(&a, NULL, "spectral", m, n, rows ? "mu=0 inner=rows" : "mu=0 inner=columns");
    rig_single(&b, NULL, "muon", m, n, "mu=0");
    float *g = b.params[0].grad;
    for (uint64_t t = 1; t <= 5; t++) {
      gradient(&a.params[0], FULL, t);
      gradient(&b.params[0], FULL, t);
      for (size_t line = 0; line < (rows ? m : n); line++) {
        const size_t start = rows ? line * n : line, stride = rows ? 1 : n;
        double squares = 0;
        for (size_t i = 0; i < (rows ? n : m); i++)
          squares += pow((double)g[start + i * stride], 2);
        for (size_t i = 0; i < (rows ? n : m); i++)
          g[start + i * stride] = (float)((double)g[start + i * stride] / sqrt(squares));
      }
      limit_assert_direction(&a, &b, 1e-4, "MuonEq is not Muon of equal lines");
    }
    rig_stop(&b);
    rig_stop(&a);
  }
}

/* Mousse's inner factor with the power 1/4, and nothing else, is Shampoo. */
static void test_shampoo_is_the_inner_factor(void **state)
{
  (void)state;
  for (size_t s = 0; s < LIMIT_SHAPES; s++) {
    rig a, b;
    rig_single(&a, NULL, "spectral", limit_shapes[s][0], limit_shapes[s][1],
               "inner=kron alpha=0.25 mu=0.9 nesterov=0 beta=0.95 ortho=none outer=0 graft=0 "
               "shape=none eps=1e-10 refresh=eigh refresh_every=1 weight_decay=0");
    rig_single(&b, NULL, "shampoo", limit_shapes[s][0], limit_shapes[s][1],
               "beta1=0.9 beta2=0.95 graft=none eps=1e-10 refresh=eigh refresh_every=1 "
               "weight_decay=0");
    for (uint64_t t = 1; t <= 8; t++) {
      gradient(&a.params[0], FULL, t);
      gradient(&b.params[0], FULL, t);
      if (t > 4) /* before, the dampings, which differ, are seen */
        limit_assert_direction(&a, &b, 1e-2, "inner = kron without the rest is not shampoo");
      else
        limit_step(&a), limit_step(&b);
    }
    rig_stop(&b);
    rig_stop(&a);
  }
}

/* K-FAC whose inputs are not correlated divides by the outputs' covariance alone. */
static void test_kfac_on_one_side(void **state)
{
  (void)state;
  for (size_t s = 0; s < LIMIT_SHAPES; s++) {
    const size_t m = limit_shapes[s][0], n = limit_shapes[s][1];
    rig r;
    rig_single(&r, NULL, "kfac", m, n,
               "mu=0 beta=0 eps=1e-10 kl_clip=0 weight_decay=0 lr=0.01");
    rig_param *p = &r.params[0];
    double *b = ref_zeros(m * m), *inverse = ref_zeros(m * m), *u = ref_zeros(m * n);
    gradient(p, FULL, 9);
    for (size_t i = 0; i < m; i++) /* some covariance: G G^T / n + I */
      for (size_t j = 0; j < m; j++) {
        b[i * m + j] = i == j;
        for (size_t k = 0; k < n; k++)
          b[i * m + j] += (double)p->grad[i * n + k] * (double)p->grad[j * n + k] / (double)n;
        p->inputs[0][i * m + j] = (float)b[i * m + j];
      }
    for (size_t i = 0; i < n * n; i++) p->inputs[1][i] = i % (n + 1) == 0;
    gradient(p, FULL, 2);
    ref_power(m, b, -1, 0, 0, inverse);
    for (size_t i = 0; i < m; i++)
      for (size_t k = 0; k < m; k++)
        for (size_t j = 0; j < n; j++)
          u[i * n + j] -= inverse[i * m + k] * (double)p->grad[k * n + j];
    ref_scale(u, m * n, 1 / ref_norm(u, m * n));
    double *moved = limit_direction(&r);
    assert_true(distance(moved, u, m * n) < 1e-4);
    free(moved);
    free(u);
    free(inverse);
    free(b);
    rig_stop(&r);
  }
}

/* ... and with fourth roots of the gradient's own statistics as covariances it is Shampoo. */
static void test_kfac_with_roots_of_statistics(void **state)
{
  (void)state;
  enum { N = 16, COUNT = N * N };
  rig a, b;
  rig_single(&a, NULL, "kfac", N, N, "mu=0 beta=0 eps=1e-10 kl_clip=0 weight_decay=0 lr=0.01");
  rig_single(
      &b, NULL, "shampoo", N, N,
      "beta1=0 beta2=0 graft=none eps=1e-10 refresh=eigh refresh_every=1 weight_decay=0");
  rig_param *p = &a.params[0];
  double *statistics = ref_zeros(COUNT), *root = ref_zeros(COUNT);
  gradient(p, FULL, 3);
  for (size_t i = 0; i < N; i++) p->grad[i * (N + 1)] += 12; /* no small singular value */
  memcpy(b.params[0].grad, p->grad, COUNT * sizeof(float));
  for (size_t side = 0; side < 2; side++) {
    const size_t line = side == 0 ? N : 1, stride = side == 0 ? 1 : N;
    memset(statistics, 0, COUNT * sizeof *statistics);
    for (size_t i = 0; i < N; i++)
      for (size_t j = 0; j < N; j++)
        for (size_t k = 0; k < N; k++)
          statistics[i * N + j] +=
              (double)p->grad[i * line + k * stride] * (double)p->grad[j * line + k * stride];
    ref_power(N, statistics, 0.25, 0, 0, root);
    for (size_t i = 0; i < COUNT; i++) p->inputs[side][i] = (float)root[i];
  }
  limit_assert_direction(&a, &b, 1e-3, "kfac with roots of statistics is not shampoo");
  free(root);
  free(statistics);
  rig_stop(&b);
  rig_stop(&a);
}

/* Where the update takes every weight towards 0, cautious decay is decay. */
static void test_cautious_everywhere(void **state)
{
  (void)state;
  for (size_t s = 0; s < LIMIT_SHAPES; s++) {
    rig a, b;
    rig_single(&a, NULL, "spectral", limit_shapes[s][0], limit_shapes[s][1],
               "mu=0 ortho=none graft=0 shape=none lr=0.1 weight_decay=1 decay=cautious");
    rig_single(&b, NULL, "spectral", limit_shapes[s][0], limit_shapes[s][1],
               "mu=0 ortho=none graft=0 shape=none lr=0.1 weight_decay=1");
    const size_t count = a.params[0].count;
    double *start = to_double(b.params[0].value, count);
    for (int t = 0; t < 5; t++) {
      memcpy(a.params[0].grad, a.params[0].value, count * sizeof(float));
      memcpy(b.params[0].grad, b.params[0].value, count * sizeof(float));
      limit_step(&a);
      limit_step(&b);
    }
    double *expected = to_double(b.params[0].value, count);
    limit_assert_near(&a, expected, start, 1e-5, "cautious decay is not decay");
    free(expected);
    free(start);
    rig_stop(&b);
    rig_stop(&a);
  }
}

/* Whether refresh = auto makes the eigenvectors of a side of this length anew, as eigh does. */
static bool auto_is_eigh(size_t length)
{
  static const char *const options[] = {"inner=rms refresh_every=8 refresh=auto",
                                        "inner=rms refresh_every=8 refresh=eigh"};
  rig r[2];
  for (size_t i = 0; i < 2; i++) {
    rig_single(&r[i], NULL, "spectral", 64, length, options[i]);
    for (uint64_t t = 1; t <= 10; t++)
      rig_step(&r[i], t); /* from the 8th on they span the side */
  }
  float *weights = rig_weights(&r[0]);
  const bool same = rig_weights_are(&r[1], weights);
  free(weights);
  rig_stop(&r[0]);
  rig_stop(&r[1]);
  return same;
}

/* Below 512, where that is fast enough. */
static void test_short_sides_have_exact_bases(void **state)
{
  (void)state;
  assert_true(auto_is_eigh(511));
  assert_false(auto_is_eigh(512));
}

static void fill_full(rig_param *p, const void *context, uint64_t step)
{
  (void)context;
  gradient(p, FULL, step);
}

/* Means over tokens are small. */
static void fill_small(rig_param *p, const void *context, uint64_t step)
{
  fill_full(p, context, step);
  for (size_t i = 0; i < p->count; i++) p->grad[i] *= 0.01f;
}

/* The second moment of SOAP-Muon's basis follows it, also where eigh finds it anew. */
static void test_second_moments_follow_a_basis_by_eigh(void **state)
{
  (void)state;
  static const char *const ways[] = {"auto", "eigh"};
  static const size_t shapes[][2] = {{20, 20}, {12, 30}, {30, 12}, {8, 50}};
  for (size_t w = 0; w < 2; w++)
    for (size_t s = 0; s < 4; s++) {
      char options[256];
      snprintf(options, sizeof options,
               "inner=rms beta=0.9 beta2=0.9 eps=1e-8 refresh=%s refresh_every=2 "
               "newton_schulz=exact12 divisor=schatten4 shape=jordan lr=0.0375 weight_decay=0",
               ways[w]);
      const against pair = {"spectral", options, "soapmuon", "refresh=eigh refresh_every=2"};
      const double error = error_of(&pair, shapes[s], STEPS, fill_full, NULL);
      if (error > 2e-2) fail_msg("%zux%zu: error %.2g", shapes[s][0], shapes[s][1], error);
    }
}

/* The floor of inner = diag is relative unless it is asked to be absolute, as Muon^2's is. */
static void test_floors_of_diag(void **state)
{
  (void)state;
#define DIAG                                                                                   \
  "inner=diag outer=0 alpha=0.5 eps=0.1 newton_schulz=jordan5 shape=jordan lr=0.1 "            \
  "weight_decay=0.0125 "
  static const against pairs[] = {
      {"spectral", DIAG, "muon2", "eps=0.1 floors=relative"},
      {"spectral", DIAG "alpha=0.25", "muon2", "eps=0.1 floors=relative alpha=0.25"},
      {"spectral", DIAG "floors=absolute", "muon2", "eps=0.1"},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    for (size_t s = 0; s < LIMIT_SHAPES; s++) {
      const double error = error_of(&pairs[i], limit_shapes[s], STEPS, fill_small, NULL);
      if (error > 1e-2) fail_msg("'%s': error %.2g", pairs[i].options, error);
    }
}

/* Roots that are made after the step meet the next momentum. */
static void test_statistics_after_the_step(void **state)
{
  (void)state;
  static const against pairs[] = {
      {"spectral", "inner=kron nesterov=0 stats_when=after refresh_every=3", "mousse",
       "stats_when=after refresh_every=3"},
      {"spectral", "inner=kron nesterov=0 stats_when=after refresh_every=1 outer=0 alpha=0.25",
       "mousse", "stats_when=after refresh_every=1 outer=0 alpha=0.25"},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    for (size_t s = 0; s < LIMIT_SHAPES; s++) {
      const double error = error_of(&pairs[i], limit_shapes[s], STEPS, fill_full, NULL);
      if (error > 1e-2) fail_msg("'%s': error %.2g", pairs[i].options, error);
    }
}

/* A step relative to weights of 0 would leave them there: the first one is Muon's. A ball takes its
 * radius from that step. */
static void test_weights_that_start_at_zero(void **state)
{
  (void)state;
  static const char *const rules[] = {"norm=relative", "radius=ball"};
  for (size_t k = 0; k < 2; k++) {
    rig muon, r;
    rig_single(&muon, NULL, "spectral", 12, 20, "weight_decay=0 shape=none");
    char options[64] = "weight_decay=0 shape=none ";
    rig_single(&r, NULL, "spectral", 12, 20, strcat(options, rules[k]));
    rig_param *p = &r.params[0];
    memset(p->value, 0, p->count * sizeof *p->value);
    memset(muon.params[0].value, 0, p->count * sizeof *p->value);
    gradient(p, FULL, 1);
    gradient(&muon.params[0], FULL, 1);
    limit_step(&r);
    limit_step(&muon);
    assert_same_weights(&r, &muon);
    double *before = to_double(p->value, p->count);
    const double radius = ref_norm(before, p->count);
    gradient(p, FULL, 2);
    limit_step(&r);
    double *after = to_double(p->value, p->count);
    if (k == 0) assert_true(fabs(distance(after, before, p->count) / radius - 0.02) < 1e-5);
    if (k == 1) assert_true(fabs(ref_norm(after, p->count) / radius - 1) < 1e-5);
    free(after);
    free(before);
    rig_stop(&muon);
    rig_stop(&r);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_soapmuon_without_a_basis),
      cmocka_unit_test(test_soapmuon_without_newton_schulz),
      cmocka_unit_test(test_soapmuon_with_the_eigenvalues),
      cmocka_unit_test(test_muon2_without_newton_schulz),
      cmocka_unit_test(test_soap_without_a_basis),
      cmocka_unit_test(test_equal_lines),
      cmocka_unit_test(test_parts_of_the_lines_and_directions),
      cmocka_unit_test(test_cautious_everywhere),
      cmocka_unit_test(test_muoneq_is_muon_of_equal_lines),
      cmocka_unit_test(test_shampoo_is_the_inner_factor),
      cmocka_unit_test(test_kfac_on_one_side),
      cmocka_unit_test(test_kfac_with_roots_of_statistics),
      cmocka_unit_test(test_short_sides_have_exact_bases),
      cmocka_unit_test(test_second_moments_follow_a_basis_by_eigh),
      cmocka_unit_test(test_floors_of_diag),
      cmocka_unit_test(test_statistics_after_the_step),
      cmocka_unit_test(test_weights_that_start_at_zero),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
