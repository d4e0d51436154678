/* test_registry.c - what holds for every algorithm, looped over the registry: a new algorithm
 * is tested by being registered. */
#include "property/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 6, COLS = 9 };

static bool has_option(const char *algorithm, const char *name)
{
  const mousse_option *option;
  for (size_t i = 0; (option = mousse_algorithm_option(algorithm, i)) != NULL; i++)
    if (strcmp(option->name, name) == 0) return true;
  return false;
}

/* Refreshes often enough for a short test, where the algorithm refreshes at all. */
static const char *often(const char *algorithm)
{
  return has_option(algorithm, "refresh_every") ? "refresh_every=5" : "";
}

static double loss_and_gradient(rig_param *p, const float *target)
{
  double loss = 0;
  for (size_t i = 0; i < p->count; i++) {
    p->grad[i] = p->value[i] - target[i];
    loss += (double)p->grad[i] * (double)p->grad[i];
  }
  return loss;
}

static void test_a_quadratic_goes_down(void **state)
{
  (void)state;
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++) {
    float target[ROWS * COLS];
    rig r;
    rig_single(&r, NULL, name, ROWS, COLS, "");
    fill_normal(target, ROWS * COLS, 1, 9, 9);
    const double before = loss_and_gradient(&r.params[0], target);
    for (int t = 0; t < 80; t++) {
      loss_and_gradient(&r.params[0], target);
      assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
    }
    const double after = loss_and_gradient(&r.params[0], target);
    if (!(after < 0.995 * before)) fail_msg("%s: loss %g -> %g", name, before, after);
    assert_int_equal(mousse_steps_done(r.opt), 80);
    rig_stop(&r);
  }
}

static void run(rig *r, uint64_t first, uint64_t last)
{
  for (uint64_t t = first; t <= last; t++) rig_step(r, t);
}

static void test_twice_the_same_is_the_same_bits(void **state)
{
  (void)state;
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++) {
    rig r, again;
    rig_single(&r, NULL, name, 23, 31, often(name));
    rig_single(&again, NULL, name, 23, 31, often(name));
    run(&r, 1, 12);
    run(&again, 1, 12);
    assert_memory_equal(r.params[0].value, again.params[0].value, 23 * 31 * sizeof(float));
    rig_stop(&again);
    rig_stop(&r);
  }
}

static void two_params(rig *r, const char *algorithm)
{
  rig_start(r, NULL);
  rig_add(r, algorithm, ROWS, COLS, often(algorithm));
  rig_add(r, algorithm, 11, 5, often(algorithm));
  rig_prepare(r);
}

static void copy_weights(rig *to, const rig *from)
{
  for (size_t i = 0; i < from->count; i++)
    memcpy(to->params[i].value, from->params[i].value, from->params[i].count * sizeof(float));
}

/* Splits after 0..13 steps cross the refreshes at 1, 6 and 11 (5 and 10 for soap). */
static void test_save_load_continue_equals_never_stopped(void **state)
{
  (void)state;
  enum { LAST = 13 };
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++) {
    rig whole;
    two_params(&whole, name);
    run(&whole, 1, LAST);
    float *expected = rig_weights(&whole);
    blob expected_state, middle, end;
    rig_save(&whole, &expected_state);
    for (uint64_t split = 0; split <= LAST; split++) {
      rig first, second;
      two_params(&first, name);
      run(&first, 1, split);
      rig_save(&first, &middle);
      two_params(&second, name);
      copy_weights(&second, &first);
      rig_load(&second, &middle);
      assert_int_equal(mousse_steps_done(second.opt), split);
      rig_stop(&first);
      run(&second, split + 1, LAST);
      rig_save(&second, &end);
      if (!rig_weights_are(&second, expected)) fail_msg("%s: split at %d", name, (int)split);
      assert_int_equal(end.size, expected_state.size);
      assert_memory_equal(end.data, expected_state.data, end.size);
      blob_free(&end);
      blob_free(&middle);
      rig_stop(&second);
    }
    blob_free(&expected_state);
    free(expected);
    rig_stop(&whole);
  }
}

/* Loading into an optimizer that has already stepped forgets those steps. */
static void test_load_replaces_what_was_there(void **state)
{
  (void)state;
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++) {
    rig r, other;
    blob early;
    two_params(&r, name);
    two_params(&other, name);
    run(&r, 1, 4);
    run(&other, 7, 9);
    rig_save(&r, &early);
    copy_weights(&other, &r);
    rig_load(&other, &early);
    run(&r, 5, 8);
    run(&other, 5, 8);
    assert_same_weights(&other, &r);
    blob_free(&early);
    rig_stop(&other);
    rig_stop(&r);
  }
}

static void check_finite_at(const char *algorithm, const mousse_option *option, double value)
{
  rig r;
  rig_start(&r, NULL);
  rig_add(&r, algorithm, ROWS, COLS, "");
  if (mousse_set(r.opt, r.params[0].group, option->name, value) != MOUSSE_OK)
    fail_msg("%s.%s = %g: %s", algorithm, option->name, value, mousse_error(r.opt));
  rig_prepare(&r);
  run(&r, 1, 12);
  if (!rig_weights_finite(&r))
    fail_msg("%s.%s = %g: not finite", algorithm, option->name, value);
  rig_stop(&r);
}

static void test_every_option_at_its_ends_stays_finite(void **state)
{
  (void)state;
  const char *name;
  const mousse_option *option;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++)
    for (size_t i = 0; (option = mousse_algorithm_option(name, i)) != NULL; i++) {
      assert_true(isfinite(option->min) && isfinite(option->max));
      assert_true(option->min <= option->initial && option->initial <= option->max);
      assert_true(option->help != NULL && option->help[0] != '\0');
      check_finite_at(name, option, option->min);
      check_finite_at(name, option, option->max);
      for (double c = option->min; option->choices != NULL && c <= option->max; c++)
        check_finite_at(name, option, c);
    }
}

static void check_shape(const char *algorithm, size_t rows, size_t cols)
{
  rig r;
  rig_start(&r, NULL);
  const mousse_status s = rig_try_add(&r, algorithm, rows, cols);
  if (s == MOUSSE_OK) {
    rig_prepare(&r);
    run(&r, 1, 12);
    if (!rig_weights_finite(&r)) fail_msg("%s %zux%zu: not finite", algorithm, rows, cols);
  } else {
    assert_int_equal(s, MOUSSE_INVALID_ARGUMENT);
    assert_true(rows == 1 || cols == 1); /* only vectors may be refused */
    assert_error_mentions(r.opt, algorithm);
    assert_error_mentions(r.opt, r.params[0].name);
  }
  rig_stop(&r);
}

static void test_odd_shapes(void **state)
{
  (void)state;
  static const size_t shapes[][2] = {{1, 1},  {1, 9},   {9, 1},   {2, 2},   {3, 2},
                                     {13, 7}, {31, 37}, {2, 101}, {101, 3}, {64, 1}};
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++)
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
      check_shape(name, shapes[i][0], shapes[i][1]);
}

/* Whether the option at this value, on top of the other settings, gives other weights. */
static bool changes(const char *algorithm, const char *others, const mousse_option *option,
                    double value)
{
  const bool of_long_sides = strcmp(option->name, "refresh_long") == 0;
  const size_t rows = of_long_sides ? 2 : ROWS, cols = of_long_sides ? 768 : COLS;
  rig plain, changed;
  rig_start(&plain, NULL);
  rig_start(&changed, NULL);
  for (int tall = 0; tall < 2; tall++) {
    rig_add(&plain, algorithm, tall ? cols : rows, tall ? rows : cols, others);
    const rig_param *p =
        rig_add(&changed, algorithm, tall ? cols : rows, tall ? rows : cols, others);
    assert_int_equal(mousse_set(changed.opt, p->group, option->name, value), MOUSSE_OK);
  }
  rig_prepare(&plain);
  rig_prepare(&changed);
  run(&plain, 1, 12);
  run(&changed, 1, 12);
  float *expected = rig_weights(&plain);
  const bool result = !rig_weights_are(&changed, expected);
  free(expected);
  rig_stop(&changed);
  rig_stop(&plain);
  return result;
}

static double clamp(const mousse_option *option, double value)
{
  return fmin(fmax(value, option->min), option->max);
}

/* Whether one of its values does. */
static bool some_value_changes(const char *name, const char *others,
                               const mousse_option *option)
{
  const double values[] = {option->min, option->initial / 2, option->initial + 1, 4,
                           option->max};
  for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
    const double value = clamp(option, option->integer ? floor(values[v]) : values[v]);
    if (value != option->initial && changes(name, others, option, value)) return true;
  }
  return false;
}

/* Settings of several others that an option needs. */
static const char *needs(const char *algorithm, const char *option)
{
  static const char *const known[][2] = {
      {"decay", "weight_decay=0.5 lr_peak=0.5"},
      {"lr_peak", "weight_decay=0.5 decay=corrected"},
      {"mu_end", "mu_schedule=cycle mu_warmup=2 mu_fall=3 mu_last=9"},
      {"mu_fall", "mu_schedule=cycle mu_warmup=2 mu_fall=3 mu_last=9"},
      {"mu_last", "mu_schedule=cycle mu_warmup=2 mu_fall=3 mu_last=9"},
      {"mix_end", "kernel=two mix_fall=3 mix_last=9"},
      {"mix_fall", "kernel=two mix_fall=3 mix_last=9"},
      {"mix_last", "kernel=two mix_fall=3 mix_last=9"},
      {"floor", "floor_target=9"},
      {"gate_floor", "inner=rms gate=on"},
      {"gate_cap", "inner=rms gate=on"},
      {"refresh_long", "inner=kron beta=0.5 refresh_every=1"}, /* full in the run's 12 steps */
      {"refresh_long", "beta=0.5 refresh_every=1"},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(known[i][0], option) == 0 &&
        (strstr(known[i][1], "inner=") == NULL || has_option(algorithm, "inner")))
      return known[i][1];
  return "";
}

/* Other settings under which the option matters: what it needs, or one choice of another option,
 * with refreshes in between. False: there are none. */
static bool find_others(const char *name, const mousse_option *option, char *others,
                        size_t size)
{
  const mousse_option *other;
  snprintf(others, size, "%s", needs(name, option->name));
  if (some_value_changes(name, others, option)) return true;
  for (size_t i = 0; (other = mousse_algorithm_option(name, i)) != NULL; i++)
    for (size_t c = 0; other->choices != NULL && other->choices[c] != NULL; c++) {
      if (other == option) continue;
      snprintf(others, size, "%s=%s %s", other->name, other->choices[c], often(name));
      if (some_value_changes(name, others, option)) return true;
    }
  return false;
}

static void test_every_option_changes_the_result(void **state)
{
  (void)state;
  const char *name;
  const mousse_option *option;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++)
    for (size_t i = 0; (option = mousse_algorithm_option(name, i)) != NULL; i++) {
      char others[256];
      /* A lone matrix is never shifted: tests/unit/test_optim.c has several. */
      if (strcmp(option->name, "stagger") == 0) continue;
      if (!find_others(name, option, others, sizeof others))
        fail_msg("%s.%s changes nothing", name, option->name);
      /* "auto" is one of the other choices, chosen for us. */
      const bool is_auto = option->choices != NULL && strcmp(option->choices[0], "auto") == 0;
      for (double c = 0; option->choices != NULL && !is_auto && c <= option->max; c++)
        if (c != option->initial && !changes(name, others, option, c))
          fail_msg("%s.%s = %s changes nothing", name, option->name,
                   option->choices[(size_t)c]);
    }
}

/* A matrix is updated alike alone and among others that share its workspace. */
static void test_neighbours_do_not_matter(void **state)
{
  (void)state;
  const mousse_env env = {.struct_size = sizeof env, .threads = 1};
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++) {
    rig alone, among;
    rig_single(&alone, &env, name, ROWS, COLS, often(name));
    rig_start(&among, &env);
    rig_add(&among, name, ROWS, COLS, often(name));
    rig_add(&among, name, 40, 33, often(name));
    rig_add(&among, name, 5, 50, often(name));
    rig_prepare(&among);
    run(&alone, 1, 7);
    run(&among, 1, 7);
    assert_memory_equal(alone.params[0].value, among.params[0].value,
                        ROWS * COLS * sizeof(float));
    rig_stop(&among);
    rig_stop(&alone);
  }
}

static void expect_default(const char *algorithm, const char *name, double value)
{
  const mousse_option *option;
  for (size_t i = 0; (option = mousse_algorithm_option(algorithm, i)) != NULL; i++)
    if (strcmp(option->name, name) == 0) {
      if (option->initial != value)
        fail_msg("%s.%s is %g, not %g", algorithm, name, option->initial, value);
      return;
    }
  fail_msg("%s has no option %s", algorithm, name);
}

static void test_defaults_are_the_published_ones(void **state)
{
  (void)state;
  static const struct {
    const char *algorithm, *name;
    double value;
  } rows[] = {
      {"mousse", "mu", 0.95},
      {"mousse", "beta", 0.95},
      {"mousse", "alpha", 0.125},
      {"mousse", "eps", 1e-5},
      {"mousse", "refresh_every", 10},
      {"mousse", "trace_norm", 1},
      {"mousse", "graft", 1},
      {"mousse", "sides", 0},
      {"mousse", "nesterov", 0},
      {"mousse", "outer", 1},
      {"mousse", "newton_schulz", 0},
      {"mousse", "shape", 0},
      {"mousse", "weight_decay", .01},
      {"mousse", "block", 0},
      {"mousse", "lr", 0.02},
      {"mousse", "bias_correction", 1},
      {"muon", "lr", 0.02},
      {"muon", "mu", 0.95},
      {"muon", "nesterov", 1},
      {"muon", "weight_decay", 0.01},
      {"muon", "shape", 0},
      {"muon", "newton_schulz", 0},
      {"adamw", "lr", 1e-3},
      {"adamw", "beta1", 0.9},
      {"adamw", "beta2", 0.95},
      {"adamw", "eps", 1e-8},
      {"adamw", "weight_decay", 0.01},
      {"lion", "lr", 1e-4},
      {"lion", "beta1", 0.95},
      {"lion", "beta2", 0.98},
      {"lion", "weight_decay", 0.01},
      {"sgd", "lr", 0.01},
      {"sgd", "mu", 0.9},
      {"sgd", "nesterov", 0},
      {"sgd", "weight_decay", 0},
      {"soap", "lr", 3e-3},
      {"soap", "beta1", 0.95},
      {"soap", "beta2", 0.95},
      {"soap", "eps", 1e-8},
      {"soap", "weight_decay", 0.01},
      {"soap", "refresh_every", 10},
      {"soap", "max_precond_dim", 10000},
      {"soap", "bias_correction", 1},
      {"shampoo", "lr", 1e-3},
      {"shampoo", "beta1", 0.9},
      {"shampoo", "beta2", 0.95},
      {"shampoo", "eps", 1e-6},
      {"shampoo", "refresh_every", 10},
      {"shampoo", "graft", 0},
      {"shampoo", "max_precond_dim", 10000},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    expect_default(rows[i].algorithm, rows[i].name, rows[i].value);
}

/* Of every algorithm the name with a letter too many. */
static void test_misspelt_names_are_guessed(void **state)
{
  (void)state;
  const char *name;
  rig r;
  rig_start(&r, NULL);
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++) {
    char wrong[64], guess[80];
    int group = 0;
    snprintf(wrong, sizeof wrong, "%sq", name);
    snprintf(guess, sizeof guess, "did you mean '%s'?", name);
    assert_int_equal(mousse_add_group(r.opt, wrong, &group), MOUSSE_UNKNOWN_NAME);
    assert_error_mentions(r.opt, guess);
  }
  rig_stop(&r);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_quadratic_goes_down),
      cmocka_unit_test(test_twice_the_same_is_the_same_bits),
      cmocka_unit_test(test_save_load_continue_equals_never_stopped),
      cmocka_unit_test(test_load_replaces_what_was_there),
      cmocka_unit_test(test_every_option_at_its_ends_stays_finite),
      cmocka_unit_test(test_odd_shapes),
      cmocka_unit_test(test_every_option_changes_the_result),
      cmocka_unit_test(test_neighbours_do_not_matter),
      cmocka_unit_test(test_defaults_are_the_published_ones),
      cmocka_unit_test(test_misspelt_names_are_guessed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
