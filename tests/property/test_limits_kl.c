/* test_limits_kl.c - what KL-Shampoo becomes with eigenvalues or bases that are written, and that it
 * finds what FISMO finds. */
#include "property/limits.h"
#include "reference/dense.h"
#include "reference/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void set_values(rig *r, float value)
{
  limit_fill(r, "left_values", value);
  limit_fill(r, "right_values", value);
}

static void assert_statistics_are(rig *kl, rig *shampoo, const char *side, size_t n,
                                  size_t other)
{
  double *found = limit_statistics(kl, side, n), *expected = limit_statistics(shampoo, side, n);
  ref_scale(found, n * n, (double)other);
  assert_true(distance(found, expected, n * n) < 1e-5 * ref_norm(expected, n * n));
  free(expected);
  free(found);
}

/* KL-Shampoo whose eigenvalues are all 1 takes Shampoo's statistics, over the length of the other
 * side, and its update is the momentum. */
static void test_klshampoo_with_values_of_one(void **state)
{
  (void)state;
  for (size_t s = 0; s < LIMIT_SHAPES; s++) {
    const size_t m = limit_shapes[s][0], n = limit_shapes[s][1];
    rig kl, shampoo;
    rig_single(&kl, NULL, "klshampoo", m, n,
               "floors=absolute eps=0 beta=0.9 refresh_every=2 mu=0.8 weight_decay=0 lr=0.01");
    rig_single(&shampoo, NULL, "shampoo", m, n, "beta2=0.9");
    double *start = to_double(kl.params[0].value, m * n), *w = ref_copy(start, m * n);
    double *momentum = ref_zeros(m * n);
    for (uint64_t t = 1; t <= 8; t++) {
      gradient(&kl.params[0], FULL, t);
      gradient(&shampoo.params[0], FULL, t);
      if (t > 1) set_values(&kl, 1);
      limit_step(&kl);
      limit_step(&shampoo);
      for (size_t i = 0; t > 1 && i < m * n; i++) {
        momentum[i] = 0.8 * momentum[i] + 0.2 * (double)kl.params[0].grad[i];
        w[i] -= 0.01 * momentum[i];
      }
    }
    assert_statistics_are(&kl, &shampoo, "left", m, n);
    assert_statistics_are(&kl, &shampoo, "right", n, m);
    limit_assert_near(&kl, w, start, 1e-4, "klshampoo with values of 1 is not its momentum");
    free(momentum);
    free(w);
    free(start);
    rig_stop(&shampoo);
    rig_stop(&kl);
  }
}

/* ... and with the eigenvalues of those statistics it is Shampoo of the power 1/2. */
static void test_klshampoo_with_the_eigenvalues(void **state)
{
  (void)state;
  enum { N = 10, COUNT = N * N };
  rig r;
  float values[N];
  double u[COUNT];
  rig_single(&r, NULL, "klshampoo", N, N,
             "floors=absolute eps=0 beta=0.9 refresh_every=1000 mu=0 weight_decay=0 lr=0.001");
  rig_param *p = &r.params[0];
  for (int t = 1; t <= 4; t++) { /* of one gradient, so that its basis is that of all of them */
    gradient(p, FULL, 3);
    for (size_t i = 0; i < COUNT; i++) p->grad[i] *= (float)t;
    if (t > 1) set_values(&r, 1);
    limit_step(&r);
  }
  double *left = limit_statistics(&r, "left", N), *right = limit_statistics(&r, "right", N);
  double *powers[2] = {ref_zeros(COUNT), ref_zeros(COUNT)};
  ref_power(N, left, -0.5, 0, 0, powers[0]);
  ref_power(N, right, -0.5, 0, 0, powers[1]);
  for (int side = 0; side < 2; side++) {
    double *own =
        limit_eigenvalues(&r, side ? "right" : "left", side ? "right_basis" : "left_basis", N);
    for (size_t i = 0; i < N; i++) values[i] = (float)own[i];
    limit_write(&r, side ? "right_values" : "left_values", values, N);
    free(own);
  }
  for (size_t i = 0; i < COUNT; i++) u[i] = (double)p->grad[i];
  ref_sandwich(N, N, powers[0], powers[1], u);
  ref_scale(u, COUNT, -1 / ref_norm(u, COUNT));
  double *moved = limit_direction(&r);
  assert_true(distance(moved, u, COUNT) < 1e-2);
  free(moved);
  for (int k = 0; k < 2; k++) free(powers[k]);
  free(right);
  free(left);
  rig_stop(&r);
}

/* lambda <- max(beta lambda + (1 - beta) mean(G^2 / lambda of the other side), mean/c^2) */
static void average_lines(size_t lines, size_t length, size_t line_stride, size_t stride,
                          const float *g, const double *other, double *values)
{
  const double c = fmax(10, (double)lines);
  double sum = 0;
  for (size_t i = 0; i < lines; i++) {
    double mean = 0;
    for (size_t j = 0; j < length; j++) {
      const double e = (double)g[i * line_stride + j * stride];
      mean += e * e / other[j] / (double)length;
    }
    values[i] = 0.9 * values[i] + 0.1 * mean;
    sum += values[i];
  }
  for (size_t i = 0; i < lines; i++) values[i] = fmax(values[i], sum / (double)lines / (c * c));
}

/* KL-Shampoo in no other basis scales rows and columns, like Adafactor. */
static void test_klshampoo_without_a_basis(void **state)
{
  (void)state;
  for (size_t s = 0; s < LIMIT_SHAPES; s++) {
    const size_t m = limit_shapes[s][0], n = limit_shapes[s][1];
    rig r;
    rig_single(&r, NULL, "klshampoo", m, n,
               "floors=absolute eps=0 beta=0.9 refresh_every=1000 mu=0 weight_decay=0 lr=0.01");
    rig_param *p = &r.params[0];
    double *start = to_double(p->value, p->count), *w = ref_copy(start, p->count);
    double *left = ref_zeros(m), *right = ref_zeros(n), *old = ref_zeros(m);
    for (size_t i = 0; i < m; i++) left[i] = 1;
    for (size_t j = 0; j < n; j++) right[j] = 1;
    for (uint64_t t = 1; t <= STEPS; t++) {
      gradient(p, FULL, t);
      limit_step(&r);
      if (t == 1) limit_no_basis(&r);
      if (t == 1) set_values(&r, 1);
      if (t == 1) continue;
      for (size_t i = 0; i < p->count; i++)
        w[i] -= 0.01 * (double)p->grad[i] / sqrt(left[i / n] * right[i % n]);
      memcpy(old, left, m * sizeof *old);
      average_lines(m, n, n, 1, p->grad, right, left);
      average_lines(n, m, 1, n, p->grad, old, right);
    }
    limit_assert_near(&r, w, start, 1e-4, "klshampoo in the basis I is not rows by columns");
    free(old);
    free(right);
    free(left);
    free(w);
    free(start);
    rig_stop(&r);
  }
}

/* inner = kl of no momentum goes where KL-Shampoo goes; with outer, twice as far in every eigenvalue. */
static void test_inner_kl(void **state)
{
  (void)state;
#define KL                                                                                     \
  "inner=kl mu=0 nesterov=0 ortho=none graft=0 beta=0.9 refresh_every=2 weight_decay=0 "
  for (size_t s = 0; s < LIMIT_SHAPES; s++) {
    const size_t m = limit_shapes[s][0], n = limit_shapes[s][1];
    rig inner, kl, outer;
    rig_single(&inner, NULL, "spectral", m, n, KL "outer=0 eps=1e-10");
    rig_single(&outer, NULL, "spectral", m, n, KL "outer=1 eps=1e-10");
    rig_single(&kl, NULL, "klshampoo", m, n,
               "mu=0 eps=1e-10 beta=0.9 refresh_every=2 weight_decay=0 lr=0.02");
    double *expected = ref_zeros(m * n);
    for (uint64_t t = 1; t <= 6; t++) {
      gradient(&inner.params[0], FULL, t);
      gradient(&kl.params[0], FULL, t);
      gradient(&outer.params[0], FULL, t);
      if (t == 6) { /* U = G / (lamL lamR) in the basis I */
        limit_no_basis(&outer);
        size_t count = 0;
        float *left = limit_read(&outer, "left_values", &count);
        float *right = limit_read(&outer, "right_values", &count);
        for (size_t i = 0; i < m * n; i++)
          expected[i] =
              -(double)outer.params[0].grad[i] / (double)left[i / n] / (double)right[i % n];
        free(right);
        free(left);
        ref_scale(expected, m * n, 1 / ref_norm(expected, m * n));
        double *moved = limit_direction(&outer);
        assert_true(distance(moved, expected, m * n) < 1e-3);
        free(moved);
        break;
      }
      limit_step(&outer);
      if (t > 1)
        limit_assert_direction(&inner, &kl, 1e-3, "inner = kl is not klshampoo");
      else
        limit_step(&inner), limit_step(&kl);
    }
    free(expected);
    rig_stop(&kl);
    rig_stop(&outer);
    rig_stop(&inner);
  }
}

/* FISMO without polar factor and outer factor whitens by the factors of least divergence, and so does
 * KL-Shampoo: on the same few gradients again and again both find the same ones. */
static void test_fismo_without_polar_factor(void **state)
{
  (void)state;
  enum { GRADIENTS = 6, ROUNDS = 600 };
  rig fismo, kl;
  rig_single(&fismo, NULL, "spectral", 8, 12,
             "inner=fisher mu=0 nesterov=0 ortho=none outer=0 graft=0 trace_norm=0 eps=1e-8 "
             "beta=0.998 refresh_every=1 shape=none weight_decay=0 lr=0.001");
  rig_single(&kl, NULL, "klshampoo", 8, 12,
             "mu=0 eps=0 beta=0.998 refresh_every=1 weight_decay=0 lr=0.001");
  for (uint64_t t = 0; t < (uint64_t)GRADIENTS * ROUNDS; t++) {
    gradient(&fismo.params[0], FULL, t % GRADIENTS + 1);
    gradient(&kl.params[0], FULL, t % GRADIENTS + 1);
    limit_step(&fismo);
    limit_step(&kl);
  }
  for (uint64_t t = 0; t < GRADIENTS; t++) {
    gradient(&fismo.params[0], FULL, t + 1);
    gradient(&kl.params[0], FULL, t + 1);
    limit_assert_direction(&fismo, &kl, 2e-2, "fismo without polar factor is not klshampoo");
  }
  rig_stop(&kl);
  rig_stop(&fismo);
}

/* A gradient of zeros leaves nothing of eigenvalues without memory; the next one begins them anew. */
static void test_kl_after_eigenvalues_of_zero(void **state)
{
  (void)state;
  static const char *const rows[][2] = {{"klshampoo", "beta=0 weight_decay=0"},
                                        {"klsoap", "beta=0 weight_decay=0"},
                                        {"spectral", "inner=kl beta=0 weight_decay=0"}};
  for (size_t k = 0; k < 3; k++) {
    rig r;
    rig_single(&r, NULL, rows[k][0], 6, 5, rows[k][1]);
    for (uint64_t t = 1; t <= 5; t++) {
      float *before = rig_weights(&r);
      rig_gradients(&r, t);
      if (t == 2) memset(r.params[0].grad, 0, 30 * sizeof(float));
      limit_step(&r);
      if (t > 3 && rig_weights_are(&r, before))
        fail_msg("%s stands still in step %d", rows[k][0], (int)t);
      free(before);
    }
    rig_stop(&r);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_klshampoo_with_values_of_one),
      cmocka_unit_test(test_klshampoo_with_the_eigenvalues),
      cmocka_unit_test(test_klshampoo_without_a_basis),
      cmocka_unit_test(test_inner_kl),
      cmocka_unit_test(test_fismo_without_polar_factor),
      cmocka_unit_test(test_kl_after_eigenvalues_of_zero),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
