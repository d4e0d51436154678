/* test_observe.c - telemetry: every parameter reports, no value is NaN (a condition number may
 * be infinite), and watching does not change a bit of the result. */
#include "property/harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct watch {
  size_t calls, update_rms;
  size_t per_param[2];
  double last_update_rms[2];
} watch;

static void look(void *user, const char *param, const char *quantity, double value)
{
  watch *w = user;
  w->calls++;
  const size_t which = strcmp(param, "p0") == 0 ? 0 : 1;
  if (which == 1) assert_string_equal(param, "p1");
  if (isnan(value)) fail_msg("%s of %s is %g", quantity, param, value);
  w->per_param[which]++;
  if (strcmp(quantity, "update_rms") != 0) return;
  w->update_rms++;
  w->last_update_rms[which] = value;
}

static void two(rig *r, const char *algorithm)
{
  const mousse_env env = {.struct_size = sizeof env, .threads = 1}; /* look is not locked */
  rig_start(r, &env);
  rig_add(r, algorithm, 8, 6, "");
  rig_add(r, algorithm, 5, 9, "");
  rig_prepare(r);
}

static void test_watching_changes_nothing(void **state)
{
  (void)state;
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++) {
    rig r, control;
    watch w = {0};
    two(&r, name);
    two(&control, name);
    assert_int_equal(mousse_observe(r.opt, look, &w), MOUSSE_OK);
    for (uint64_t t = 1; t <= 12; t++) {
      rig_step(&r, t);
      rig_step(&control, t);
      /* Once per parameter and step, but for a first step that only makes a basis. */
      const uint64_t updates = first_step_is_idle(name) ? t - 1 : t;
      assert_int_equal(w.update_rms, 2 * updates);
    }
    assert_true(w.per_param[0] > 0 && w.per_param[0] == w.per_param[1]);
    assert_true(w.last_update_rms[0] > 0 && w.last_update_rms[1] > 0);
    assert_same_weights(&r, &control);

    const size_t calls = w.calls;
    assert_int_equal(mousse_observe(r.opt, NULL, NULL), MOUSSE_OK);
    rig_step(&r, 13);
    assert_int_equal(w.calls, calls);
    rig_stop(&control);
    rig_stop(&r);
  }
}

static void check_condition(void *user, const char *param, const char *quantity, double value)
{
  size_t *told = user;
  (void)param;
  if (strstr(quantity, "condition") == NULL) return;
  if (!(value >= 1)) fail_msg("%s is %g", quantity, value);
  ++*told;
}

/* Statistics of nothing, too, have the condition of a multiple of the identity at least. */
static void test_no_condition_is_below_one(void **state)
{
  (void)state;
  size_t told = 0;
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++) {
    const mousse_env env = {.struct_size = sizeof env, .threads = 1};
    rig r;
    rig_single(&r, &env, name, 8, 6, "");
    memset(r.params[0].grad, 0, 48 * sizeof(float));
    assert_int_equal(mousse_observe(r.opt, check_condition, &told), MOUSSE_OK);
    for (int t = 0; t < 3; t++) assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
    rig_stop(&r);
  }
  assert_true(told > 0);
}

/* What docs/optimizers.md says: the RMS of the step divided by lr. */
static void test_the_step_is_as_long_as_reported(void **state)
{
  (void)state;
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++) {
    const mousse_env env = {.struct_size = sizeof env, .threads = 1};
    rig r;
    watch w = {0};
    double lr = 0;
    rig_single(&r, &env, name, 8, 6, "weight_decay=0");
    assert_int_equal(mousse_get(r.opt, 0, "lr", &lr), MOUSSE_OK);
    assert_int_equal(mousse_observe(r.opt, look, &w), MOUSSE_OK);
    for (uint64_t t = 1; t <= 7; t++) {
      float *before = rig_weights(&r);
      double squares = 0;
      w.last_update_rms[0] = 0;
      rig_step(&r, t);
      for (size_t i = 0; i < 48; i++) {
        const double moved = (double)r.params[0].value[i] - (double)before[i];
        squares += moved * moved;
      }
      const double expected = sqrt(squares / 48) / lr;
      if (!(fabs(w.last_update_rms[0] - expected) <= 2e-3 * expected))
        fail_msg("%s step %d: %g is reported, %g was taken", name, (int)t, w.last_update_rms[0],
                 expected);
      free(before);
    }
    rig_stop(&r);
  }
}

static const char *const spectra[] = {
    "left_min",     "left_max",     "right_min",    "right_max",    "left_q10",    "left_q50",
    "left_q90",     "right_q10",    "right_q50",    "right_q90",    "left_rms",    "right_rms",
    "momentum_q10", "momentum_q50", "momentum_q90", "momentum_min", "momentum_max"};
enum { SPECTRA = sizeof spectra / sizeof *spectra, EXTREMES = 4 };

static void note_spectra(void *user, const char *param, const char *quantity, double value)
{
  double *found = user;
  (void)param;
  for (size_t i = 0; i < SPECTRA; i++)
    if (strcmp(quantity, spectra[i]) == 0) found[i] = value;
}

/* Eigenvalues are told alike, however the roots are made. */
static void test_spectra_do_not_depend_on_the_method(void **state)
{
  (void)state;
  static const char *const methods[] = {"refresh=eigh", "refresh=cholesky"};
  double found[2][SPECTRA] = {{0}};
  for (size_t m = 0; m < 2; m++) {
    const mousse_env env = {.struct_size = sizeof env, .threads = 1};
    rig r;
    rig_single(&r, &env, "mousse", 20, 13, methods[m]);
    for (uint64_t t = 1; t <= 10; t++) rig_step(&r, t);
    assert_int_equal(mousse_observe(r.opt, note_spectra, found[m]), MOUSSE_OK);
    rig_step(&r, 11); /* a refresh */
    rig_stop(&r);
  }
  for (size_t i = 0; i < EXTREMES; i++) {
    assert_true(found[0][i] > 0);
    if (!(fabs(found[1][i] - found[0][i]) <= 1e-3 * found[0][i]))
      fail_msg("%s is %g, by cholesky %g", spectra[i], found[0][i], found[1][i]);
  }
}

/* What is told after 3 steps with gradients of this size; 0: nothing. */
static void spectra_at(const char *algorithm, double gain, double found[SPECTRA])
{
  const mousse_env env = {.struct_size = sizeof env, .threads = 1};
  rig r;
  rig_single(&r, &env, algorithm, 8, 6, "");
  assert_int_equal(mousse_observe(r.opt, note_spectra, found), MOUSSE_OK);
  for (uint64_t t = 1; t <= 3; t++) {
    rig_gradients(&r, t);
    for (size_t i = 0; i < 48; i++) r.params[0].grad[i] *= (float)gain;
    assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
  }
  rig_stop(&r);
}

/* Statistics grow with a gradient or its square, or hardly at all (fismo's), and so does all that is
 * told of them, in whatever unit the state is kept: a unit of 2^32 too many would be a power of 0.7. */
static void test_spectra_are_in_true_units(void **state)
{
  (void)state;
  const double gains[] = {1e-14, 1e14};
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++)
    for (size_t g = 0; g < 2; g++) {
      double plain[SPECTRA] = {0}, scaled[SPECTRA] = {0};
      spectra_at(name, 1, plain);
      spectra_at(name, gains[g], scaled);
      for (size_t k = 0; k < SPECTRA; k++) {
        /* The least of fismo's is what a gradient of lower rank leaves of the identity, and of
         * kfac's clipped momentum squares may be too small to tell. */
        if (plain[k] == 0 || scaled[k] == 0 || strstr(spectra[k], "_min") != NULL) continue;
        const double degree = log(scaled[k] / plain[k]) / log(gains[g]);
        if (!(fabs(degree - rint(degree)) < 0.25 && rint(degree) >= 0 && rint(degree) <= 2))
          fail_msg("%s: %s grows with the gradient's power %g", name, spectra[k], degree);
      }
    }
}

/* 0/0 lurks in every ratio that is reported. */
static void test_zero_gradients_report_no_nan(void **state)
{
  (void)state;
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++) {
    rig r;
    watch w = {0};
    two(&r, name);
    assert_int_equal(mousse_observe(r.opt, look, &w), MOUSSE_OK);
    for (size_t i = 0; i < r.count; i++)
      memset(r.params[i].grad, 0, r.params[i].count * sizeof(float));
    for (int t = 0; t < 12; t++) assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
    assert_true(w.calls > 0);
    rig_stop(&r);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_watching_changes_nothing),
      cmocka_unit_test(test_no_condition_is_below_one),
      cmocka_unit_test(test_the_step_is_as_long_as_reported),
      cmocka_unit_test(test_spectra_do_not_depend_on_the_method),
      cmocka_unit_test(test_spectra_are_in_true_units),
      cmocka_unit_test(test_zero_gradients_report_no_nan),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
