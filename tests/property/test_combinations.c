/* test_combinations.c - options together that nobody tried together: pairs of spectral's
 * choices. */
#include "property/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The weights of a 20 x 12 matrix under spectral after 5 steps; free(). */
static float *spectral_weights(const char *options, double gain)
{
  rig r;
  rig_single(&r, NULL, "spectral", 20, 12, options);
  for (uint64_t t = 1; t <= 5; t++) {
    rig_gradients(&r, t);
    for (size_t i = 0; i < r.params[0].count; i++) r.params[0].grad[i] *= (float)gain;
    assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
  }
  float *weights = rig_weights(&r);
  rig_stop(&r);
  return weights;
}

/* ||x - y|| / ||y|| of the 20 x 12 weights under two settings. */
static double apart(const char *options, double gain, const char *others)
{
  float *x = spectral_weights(options, gain), *y = spectral_weights(others, 1);
  double squares = 0, all = 0;
  for (size_t i = 0; i < 20 * 12; i++) {
    squares += pow((double)x[i] - (double)y[i], 2);
    all += pow((double)y[i], 2);
  }
  free(x);
  free(y);
  return sqrt(squares / all);
}

/* Preconditioners that need whole sides, or both, have them whatever `block` and `sides` say. */
static void test_whole_sides_are_not_cut(void **state)
{
  (void)state;
  static const char *const rows[][2] = {{"fisher", "block=5"},     {"fisher", "sides=left"},
                                        {"fisher", "sides=right"}, {"fisher", "sides=small"},
                                        {"rms", "block=5"},        {"sinkhorn", "block=5"},
                                        {"kl", "block=5"},         {"kl", "sides=small"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char options[200], whole[120];
    snprintf(whole, sizeof whole, "inner=%s refresh_every=2", rows[i][0]);
    snprintf(options, sizeof options, "%s %s", whole, rows[i][1]);
    if (apart(options, 1, whole) != 0) fail_msg("%s", options);
  }
}

/* Roots are of statistics, before the step or after it, and have their scale alone. */
static void test_statistics_are_scale_free(void **state)
{
  (void)state;
  static const char *const inner[] = {"kron", "sum"}, *const of[] = {"gradient", "momentum"},
                           *const when[] = {"before", "after"};
  for (int i = 0; i < 8; i++) {
    char options[120];
    snprintf(options, sizeof options, "inner=%s stats_of=%s stats_when=%s refresh_every=1",
             inner[i & 1], of[i >> 1 & 1], when[i >> 2]);
    const double by_scale = apart(options, 1048576, options);
    if (!(by_scale < 1e-5)) fail_msg("%s: a gradient's scale changes %g", options, by_scale);
  }
}

/* An exponent of 0 whitens nothing, so that another one must show. */
static void test_roots_are_computed_after_the_step_too(void **state)
{
  (void)state;
  static const char *const inner[] = {"kron", "sum"}, *const when[] = {"before", "after"};
  for (int i = 0; i < 4; i++) {
    char options[120], without[160];
    snprintf(options, sizeof options, "inner=%s stats_when=%s", inner[i & 1], when[i >> 1]);
    snprintf(without, sizeof without, "%s alpha=0", options);
    if (!(apart(options, 1, without) > 1e-4)) fail_msg("%s: nothing is whitened", options);
  }
}

static void test_every_end_moves_the_weights(void **state)
{
  (void)state;
  static const char *const ortho[] = {"newton_schulz", "none", "topk", "low_rank"},
                           *const ends[] = {
                               "post=rows",     "post=element",   "post=scalar",
                               "norm=sqrt_min", "norm=sqrt_rows", "norm=rms",
                               "norm=relative", "norm=nuclear",   "post=scalar norm=nuclear"};
  for (size_t i = 0; i < 4; i++)
    for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
      char options[120], still[160];
      snprintf(options, sizeof options, "weight_decay=0 ortho=%s %s", ortho[i], ends[k]);
      snprintf(still, sizeof still, "%s lr=0", options);
      if (!(apart(options, 1, still) > 1e-3)) fail_msg("%s: weights do not move", options);
    }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_whole_sides_are_not_cut),
      cmocka_unit_test(test_statistics_are_scale_free),
      cmocka_unit_test(test_roots_are_computed_after_the_step_too),
      cmocka_unit_test(test_every_end_moves_the_weights),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
