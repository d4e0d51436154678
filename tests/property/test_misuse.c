/* test_misuse.c - every bad use gets its status and a sentence that names the offending thing,
 * and changes nothing: the optimizer goes on as if the call had not been made. */
#include "property/harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void assert_refused(rig *r, mousse_status found, mousse_status wanted, const char *word)
{
  if (found != wanted)
    fail_msg("status %d (%s), not %d: %s", found, mousse_status_text(found), wanted,
             mousse_error(r->opt));
  assert_error_mentions(r->opt, word);
}

/* The sentence says what the user meant. */
static void test_unknown_names_get_a_suggestion(void **state)
{
  (void)state;
  rig r;
  int group = -7;
  double value = -7;
  float w[4] = {0}, g[4] = {0};
  rig_start(&r, NULL);
  assert_refused(&r, mousse_add_group(r.opt, "mouse", &group), MOUSSE_UNKNOWN_NAME, "'mouse'");
  assert_error_mentions(r.opt, "mousse");
  assert_int_equal(group, -7);
  assert_refused(&r, mousse_add_group(r.opt, "", &group), MOUSSE_UNKNOWN_NAME, "");
  rig_add(&r, "adamw", 2, 3, "");
  assert_refused(&r, mousse_set(r.opt, 0, "beta3", 0.5), MOUSSE_UNKNOWN_NAME, "'beta3'");
  assert_error_mentions(r.opt, "did you mean 'beta");
  assert_refused(&r, mousse_set_text(r.opt, 0, "weight-decay", "0.5"), MOUSSE_UNKNOWN_NAME,
                 "did you mean 'weight_decay'");
  assert_int_equal(mousse_get(r.opt, 0, "beta3", &value), MOUSSE_UNKNOWN_NAME);
  assert_true(value == -7);
  assert_int_equal(mousse_add_param(r.opt, 0, "embedding", 2, 2, w, g), MOUSSE_OK);
  assert_refused(&r, mousse_set_param(r.opt, "embeding", "lr_factor", 1), MOUSSE_UNKNOWN_NAME,
                 "there is no parameter 'embeding'; did you mean 'embedding'?");
  rig_stop(&r);
}

static void test_unknown_groups(void **state)
{
  (void)state;
  rig r;
  float w[4] = {0}, g[4] = {0};
  double value = 0;
  rig_start(&r, NULL);
  rig_add(&r, "adamw", 2, 3, "");
  static const int groups[] = {-1, 1, 1000000};
  for (size_t i = 0; i < 3; i++) {
    const int group = groups[i];
    assert_int_equal(mousse_add_param(r.opt, group, "x", 2, 2, w, g), MOUSSE_UNKNOWN_NAME);
    assert_int_equal(mousse_set(r.opt, group, "lr", 0.5), MOUSSE_UNKNOWN_NAME);
    assert_int_equal(mousse_set_text(r.opt, group, "lr", "0.5"), MOUSSE_UNKNOWN_NAME);
    assert_error_mentions(r.opt, "group");
    assert_int_equal(mousse_get(r.opt, group, "lr", &value), MOUSSE_UNKNOWN_NAME);
  }
  rig_stop(&r);
}

static void test_values_out_of_range(void **state)
{
  (void)state;
  static const struct {
    const char *option;
    double value;
  } rows[] = {{"lr", NAN},
              {"lr", -0.1},
              {"lr", INFINITY},
              {"lr", -INFINITY},
              {"mu", 1},
              {"beta", 1},
              {"beta", 1.5},
              {"beta", -0.1},
              {"refresh_every", 0},
              {"alpha", -1},
              {"refresh_every", 2.5},
              {"eps", -1},
              {"weight_decay", NAN},
              {"sides", 4},
              {"sides", -1},
              {"graft", 2},
              {"block", -1},
              {"block", 1.5}};
  rig r;
  rig_start(&r, NULL);
  rig_add(&r, "mousse", 2, 3, "");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    double before = 0, after = 0;
    assert_int_equal(mousse_get(r.opt, 0, rows[i].option, &before), MOUSSE_OK);
    assert_refused(&r, mousse_set(r.opt, 0, rows[i].option, rows[i].value), MOUSSE_OUT_OF_RANGE,
                   rows[i].option);
    assert_int_equal(mousse_get(r.opt, 0, rows[i].option, &after), MOUSSE_OK);
    assert_true(before == after);
  }
  static const char *const element_wise[][2] = {
      {"adamw", "beta1"}, {"adamw", "beta2"}, {"lion", "beta1"}, {"soap", "beta2"}};
  for (size_t i = 0; i < 4; i++) {
    rig_add(&r, element_wise[i][0], 3, 4, "");
    assert_refused(&r, mousse_set(r.opt, (int)i + 1, element_wise[i][1], 1),
                   MOUSSE_OUT_OF_RANGE, element_wise[i][1]);
  }
  rig_stop(&r);
}

static void test_text_values(void **state)
{
  (void)state;
  static const char *const bad[][2] = {{"sides", "botth"}, {"lr", "abc"},   {"lr", "1e-3x"},
                                       {"lr", "nan"},      {"lr", "-1"},    {"sides", ""},
                                       {"lr", ""},         {"lr", "0,5"},   {"graft", "maybe"},
                                       {"shape", "Rms "},  {"block", "3.5"}};
  rig r;
  double value = 0;
  rig_start(&r, NULL);
  rig_add(&r, "mousse", 2, 3, "");
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const mousse_status s = mousse_set_text(r.opt, 0, bad[i][0], bad[i][1]);
    if (s != MOUSSE_OUT_OF_RANGE && s != MOUSSE_INVALID_ARGUMENT && s != MOUSSE_UNKNOWN_NAME)
      fail_msg("%s = '%s': status %d", bad[i][0], bad[i][1], s);
    assert_error_mentions(r.opt, bad[i][0]);
    assert_error_mentions(r.opt, bad[i][1]);
  }
  assert_int_equal(mousse_set_text(r.opt, 0, "sides", "botth") == MOUSSE_OK, 0);
  assert_error_mentions(r.opt, "both");
  assert_int_equal(mousse_set_text(r.opt, 0, "lr", "1e999"), MOUSSE_OUT_OF_RANGE);
  assert_int_equal(mousse_set_text(r.opt, 0, "sides", "right"), MOUSSE_OK);
  double polar5 = 0, express = 1; /* a choice with a second name */
  assert_int_equal(mousse_set_text(r.opt, 0, "newton_schulz", "polar5"), MOUSSE_OK);
  assert_int_equal(mousse_get(r.opt, 0, "newton_schulz", &polar5), MOUSSE_OK);
  assert_int_equal(mousse_set_text(r.opt, 0, "newton_schulz", "polar_express"), MOUSSE_OK);
  assert_int_equal(mousse_get(r.opt, 0, "newton_schulz", &express), MOUSSE_OK);
  assert_true(polar5 == express);
  assert_int_equal(mousse_get(r.opt, 0, "sides", &value), MOUSSE_OK);
  assert_true(value == 2);
  assert_int_equal(mousse_set_text(r.opt, 0, "lr", "5e-2"), MOUSSE_OK);
  assert_int_equal(mousse_get(r.opt, 0, "lr", &value), MOUSSE_OK);
  assert_true(value == 5e-2);
  rig_stop(&r);
}

static void test_bad_parameters(void **state)
{
  (void)state;
  rig r;
  float w[12] = {0}, g[12] = {0};
  rig_start(&r, NULL);
  rig_param *p = rig_add(&r, "adamw", 3, 4, "");
  assert_refused(&r, mousse_add_param(r.opt, 0, "p0", 2, 2, w, g), MOUSSE_INVALID_ARGUMENT,
                 "'p0'");
  assert_refused(&r, mousse_add_param(r.opt, 0, "again", 3, 4, p->value, g),
                 MOUSSE_INVALID_ARGUMENT, "again");
  assert_refused(&r, mousse_add_param(r.opt, 0, "overlap", 1, 4, p->value + 4, g),
                 MOUSSE_INVALID_ARGUMENT, "overlap");
  assert_refused(&r, mousse_add_param(r.opt, 0, "x", 0, 4, w, g), MOUSSE_INVALID_ARGUMENT, "x");
  assert_refused(&r, mousse_add_param(r.opt, 0, "x", 3, 0, w, g), MOUSSE_INVALID_ARGUMENT, "x");
  assert_refused(&r, mousse_add_param(r.opt, 0, "x", SIZE_MAX / 2, 3, w, g),
                 MOUSSE_INVALID_ARGUMENT, "x");
  assert_refused(&r, mousse_add_param(r.opt, 0, "x", 3, SIZE_MAX / 4, w, g),
                 MOUSSE_INVALID_ARGUMENT, "x");
  assert_refused(&r, mousse_add_param(r.opt, 0, "", 3, 4, w, g), MOUSSE_INVALID_ARGUMENT,
                 "name");
  assert_int_equal(mousse_add_param(r.opt, 0, "x", 3, 4, NULL, NULL), MOUSSE_OK);
  assert_refused(&r, mousse_prepare(r.opt), MOUSSE_INVALID_ARGUMENT, "'x' has no memory");
  assert_int_equal(mousse_rebind(r.opt, "x", w, g), MOUSSE_OK);
  rig_prepare(&r);
  rig_step(&r, 1);
  rig_stop(&r);
}

static int write_nothing(void *user, const void *data, size_t bytes)
{
  (void)user, (void)data, (void)bytes;
  return 0;
}

static int read_nothing(void *user, void *data, size_t bytes)
{
  (void)user, (void)data, (void)bytes;
  return 1;
}

static void test_null_everywhere(void **state)
{
  (void)state;
  rig r;
  int group = 0;
  float w[4] = {0}, g[4] = {0};
  double value = 0;
  const mousse_status bad = MOUSSE_INVALID_ARGUMENT;
  assert_int_equal(mousse_create(NULL, NULL), bad);
  mousse_destroy(NULL);
  assert_int_equal(mousse_add_group(NULL, "adamw", &group), bad);
  assert_int_equal(mousse_add_param(NULL, 0, "x", 2, 2, w, g), bad);
  assert_int_equal(mousse_set(NULL, 0, "lr", 1), bad);
  assert_int_equal(mousse_set_text(NULL, 0, "lr", "1"), bad);
  assert_int_equal(mousse_get(NULL, 0, "lr", &value), bad);
  assert_int_equal(mousse_prepare(NULL), bad);
  assert_int_equal(mousse_step(NULL), bad);
  assert_int_equal(mousse_save(NULL, write_nothing, NULL), bad);
  assert_int_equal(mousse_load(NULL, read_nothing, NULL), bad);
  assert_int_equal(mousse_observe(NULL, NULL, NULL), bad);
  assert_int_equal(mousse_steps_done(NULL), 0);
  assert_int_equal(mousse_bytes_held(NULL), 0);
  assert_non_null(mousse_error(NULL));

  rig_start(&r, NULL);
  assert_int_equal(mousse_add_group(r.opt, NULL, &group), bad);
  assert_int_equal(mousse_add_group(r.opt, "adamw", NULL), bad);
  assert_int_equal(mousse_add_group(r.opt, "adamw", &group), MOUSSE_OK);
  assert_int_equal(group, 0); /* the refused ones were not counted */
  assert_int_equal(mousse_add_param(r.opt, 0, NULL, 2, 2, w, g), bad);
  assert_int_equal(mousse_set(r.opt, 0, NULL, 1), bad);
  assert_int_equal(mousse_set_text(r.opt, 0, NULL, "1"), bad);
  assert_int_equal(mousse_set_text(r.opt, 0, "lr", NULL), bad);
  assert_int_equal(mousse_get(r.opt, 0, NULL, &value), bad);
  assert_int_equal(mousse_get(r.opt, 0, "lr", NULL), bad);
  assert_int_equal(mousse_add_param(r.opt, 0, "x", 2, 2, w, g), MOUSSE_OK);
  rig_prepare(&r);
  assert_int_equal(mousse_save(r.opt, NULL, NULL), bad);
  assert_int_equal(mousse_load(r.opt, NULL, NULL), bad);
  assert_int_equal(mousse_observe(r.opt, NULL, NULL), MOUSSE_OK); /* off */
  assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
  rig_stop(&r);
}

static void test_wrong_phase(void **state)
{
  (void)state;
  rig r;
  int group = 0;
  float w[4] = {0}, g[4] = {0};
  const mousse_status wrong = MOUSSE_WRONG_PHASE;
  rig_start(&r, NULL);
  rig_add(&r, "mousse", 4, 5, "");
  assert_refused(&r, mousse_step(r.opt), wrong, "prepare");
  assert_refused(&r, mousse_save(r.opt, write_nothing, NULL), wrong, "prepare");
  assert_refused(&r, mousse_load(r.opt, read_nothing, NULL), wrong, "prepare");
  rig_prepare(&r);
  assert_refused(&r, mousse_prepare(r.opt), wrong, "prepare");
  assert_refused(&r, mousse_add_group(r.opt, "adamw", &group), wrong, "prepare");
  assert_refused(&r, mousse_add_param(r.opt, 0, "x", 2, 2, w, g), wrong, "prepare");
  rig_step(&r, 1);
  assert_int_equal(mousse_set(r.opt, 0, "lr", 0.5), MOUSSE_OK); /* free at any time */
  rig_step(&r, 2);
  assert_int_equal(mousse_steps_done(r.opt), 2);
  rig_stop(&r);
}

static void test_fixed_options_after_prepare(void **state)
{
  (void)state;
  const char *name;
  const mousse_option *option;
  size_t fixed = 0;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++) {
    rig r;
    rig_single(&r, NULL, name, 4, 5, "");
    for (size_t i = 0; (option = mousse_algorithm_option(name, i)) != NULL; i++) {
      const mousse_status s = mousse_set(r.opt, 0, option->name, option->initial);
      if (option->fixed) assert_refused(&r, s, MOUSSE_WRONG_PHASE, option->name);
      if (!option->fixed) assert_int_equal(s, MOUSSE_OK);
      fixed += option->fixed != 0;
    }
    rig_step(&r, 1);
    rig_stop(&r);
  }
  assert_true(fixed > 0); /* sides and block of mousse decide what memory is taken */
}

static void test_introspection_ends_in_null(void **state)
{
  (void)state;
  size_t count = 0;
  while (mousse_algorithm_name(count) != NULL) {
    assert_non_null(mousse_algorithm_help(mousse_algorithm_name(count)));
    assert_null(mousse_algorithm_option(mousse_algorithm_name(count), 10000));
    count++;
  }
  assert_true(count >= 7);
  assert_null(mousse_algorithm_name(SIZE_MAX));
  assert_null(mousse_algorithm_help("no such"));
  assert_null(mousse_algorithm_help(NULL));
  assert_null(mousse_algorithm_option("no such", 0));
  assert_null(mousse_algorithm_option(NULL, 0));
  assert_string_equal(mousse_version(), MOUSSE_VERSION_TEXT);
  for (int s = -20; s <= 5; s++) assert_non_null(mousse_status_text((mousse_status)s));
  assert_string_equal(mousse_status_text(MOUSSE_NO_MEMORY), "out of memory");
}

/* A refused call leaves no trace in what follows. */
static void test_misuse_changes_nothing(void **state)
{
  (void)state;
  rig r, control;
  int group = 0;
  rig_single(&r, NULL, "mousse", 7, 5, "refresh_every=3");
  rig_single(&control, NULL, "mousse", 7, 5, "refresh_every=3");
  for (uint64_t t = 1; t <= 8; t++) {
    mousse_prepare(r.opt);
    mousse_add_group(r.opt, "adamw", &group);
    mousse_set(r.opt, 0, "lr", NAN);
    mousse_set(r.opt, 0, "beta3", 1);
    mousse_set_text(r.opt, 0, "shape", "round");
    mousse_load(r.opt, NULL, NULL);
    rig_step(&r, t);
    rig_step(&control, t);
  }
  assert_same_weights(&r, &control);
  rig_stop(&control);
  rig_stop(&r);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_unknown_names_get_a_suggestion),
      cmocka_unit_test(test_unknown_groups),
      cmocka_unit_test(test_values_out_of_range),
      cmocka_unit_test(test_text_values),
      cmocka_unit_test(test_bad_parameters),
      cmocka_unit_test(test_null_everywhere),
      cmocka_unit_test(test_wrong_phase),
      cmocka_unit_test(test_fixed_options_after_prepare),
      cmocka_unit_test(test_introspection_ends_in_null),
      cmocka_unit_test(test_misuse_changes_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
