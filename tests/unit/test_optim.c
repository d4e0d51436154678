/* test_optim.c - what the public API does not show: fall-backs, units, workspaces, forms. */
#include "base/random.h"
#include "check.h"
#include "linalg/vector.h"
#include "optim/kronecker.h"
#include "optim/optimizer.h"
#include "optim/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 12, COLS = 20, ALL = ROWS * COLS };

static bool failing_solver(size_t n, double *a, double *values, double *work)
{
  (void)work;
  for (size_t i = 0; i < n; i++) values[i] = a[i] = NAN;
  return false;
}

static void test_ladder_of_solvers(void **state)
{
  (void)state;
  static const mo_eigh_solver second_only[] = {failing_solver, mo_eigh_iterate, NULL};
  static const mo_eigh_solver none[] = {failing_solver, failing_solver, NULL};
  const mo_side side = mo_side_make((mo_shape){ROWS, COLS}, false, 0);
  const mo_root_rule rule = {.power = 0.25, .correction = 1.0, .gain = 1.0f, .eps = 1e-5};
  float grad[ALL], statistics[ROWS * ROWS] = {0}, good[ROWS * ROWS], root[ROWS * ROWS];
  float *work = malloc(mo_side_refresh_floats(side) * sizeof *work);
  mo_counts counts = {0};
  mo_random_fill(grad, ALL, 1.0, 1, 1);
  mo_side_average(side, (mo_shape){ROWS, COLS}, grad, 0.5, statistics);
  mo_side_refresh(side, statistics, &rule, mo_eigh_ladder, good, work, &counts, NULL);
  assert_int_equal(counts.refreshes, 1);
  assert_int_equal(counts.retries + counts.kept, 0);

  mo_side_refresh(side, statistics, &rule, second_only, root, work, &counts, NULL);
  assert_int_equal(counts.retries, 1);
  assert_int_equal(counts.kept, 0);
  for (size_t i = 0; i < ROWS * ROWS; i++) assert_true(fabsf(root[i] - good[i]) < 1e-5f);

  memcpy(root, good, sizeof root);
  mo_side_refresh(side, statistics, &rule, none, root, work, &counts, NULL);
  assert_int_equal(counts.kept, 1);
  assert_memory_equal(root, good, sizeof root);

  statistics[0] = NAN; /* cannot happen, but if it did */
  mo_side_refresh(side, statistics, &rule, mo_eigh_ladder, root, work, &counts, NULL);
  assert_int_equal(counts.kept, 2);
  assert_memory_equal(root, good, sizeof root);
  free(work);
}

/* (root)^(1/power) must be the inverse of what was decomposed, for each exponent in use: a
 * fourth root that is really a square root passes tests on the identity. */
static void test_roots_have_their_exponent(void **state)
{
  (void)state;
  static const double powers[] = {0.0, 0.125, 0.25, 0.5};
  const mo_side side = mo_side_make((mo_shape){ROWS, COLS}, false, 0);
  float *work = malloc(mo_side_refresh_floats(side) * sizeof *work);
  for (size_t p = 0; p < 4; p++) {
    float statistics[ROWS * ROWS] = {0}, root[ROWS * ROWS];
    for (size_t i = 0; i < ROWS; i++) statistics[i * ROWS + i] = ldexpf(1.0f, (int)i - 6);
    const mo_root_rule rule = {
        .power = powers[p], .correction = 1.0, .gain = 1.0f, .eps = 1e-10};
    mo_counts counts = {0};
    mo_side_refresh(side, statistics, &rule, mo_eigh_ladder, root, work, &counts, NULL);
    for (size_t i = 0; i < ROWS; i++)
      assert_true(fabs((double)root[i * ROWS + i] / pow(2.0, -powers[p] * ((double)i - 6.0)) -
                       1) < 1e-6);
  }
  free(work);
}

static void test_units_follow_the_gradient(void **state)
{
  (void)state;
  float momentum[4] = {1.0f, -2.0f, 0.5f, 0.0f}, second[4] = {1.0f, 4.0f, 0.25f, 0.0f};
  float basis[1] = {0.75f}, *const arrays[] = {momentum, second, basis};
  const mo_part parts[] = {{"m", 4, 1}, {"v", 4, 2}, {"q", 1, 0}};
  assert_int_equal(mo_unit_adapt(0, 1e-9f, parts, 3, arrays), 0);
  assert_int_equal(mo_unit_adapt(0, 0.0f, parts, 3, arrays), 0);
  assert_int_equal(mo_unit_adapt(0, 1e-38f, parts, 3, arrays),
                   0); /* the state is still large */
  assert_int_equal(mo_unit_adapt(0, 1e30f, parts, 3, arrays), 96);
  assert_true(momentum[1] == -2.0f * 0x1p-96f);
  assert_true(second[1] == 0.0f || second[1] == 4.0f * 0x1p-140f * 0x1p-52f);
  assert_true(basis[0] == 0.75f);

  float fresh[4] = {0};
  float *const zero[] = {fresh, fresh, basis};
  assert_int_equal(mo_unit_adapt(0, 1e-38f, parts, 3, zero), -96);
  assert_int_equal(mo_unit_adapt(0, 3e38f, parts, 3, zero), 96);
  assert_true(mo_unit_gain(-96) == 0x1p96f && mo_unit_gain(0) == 1.0f);
}

typedef struct trial {
  float value[ALL], grad[ALL];
  mousse_optimizer *opt;
  int group;
} trial;

static void start(trial *t, const char *algorithm)
{
  mo_random_fill(t->value, ALL, 1.0, 1, 1);
  assert_int_equal(mousse_create(NULL, &t->opt), MOUSSE_OK);
  assert_int_equal(mousse_add_group(t->opt, algorithm, &t->group), MOUSSE_OK);
  assert_int_equal(mousse_add_param(t->opt, t->group, "w", ROWS, COLS, t->value, t->grad),
                   MOUSSE_OK);
}

static void run(trial *t, uint64_t from, uint64_t steps, float scratch)
{
  for (uint64_t step = from; step < from + steps; step++) {
    mo_random_fill(t->grad, ALL, 1.0, 2, step);
    float *work = (float *)(void *)t->opt->workspace.start;
    for (size_t i = 0; i < t->opt->workspace.bytes / sizeof *work; i++) work[i] = scratch;
    assert_int_equal(mousse_step(t->opt), MOUSSE_OK);
  }
}

static void test_workspace_contents_do_not_matter(void **state)
{
  (void)state;
  for (size_t i = 0; mousse_algorithm_name(i) != NULL; i++) {
    trial clean, dirty;
    start(&clean, mousse_algorithm_name(i));
    start(&dirty, mousse_algorithm_name(i));
    assert_int_equal(mousse_prepare(clean.opt), MOUSSE_OK);
    assert_int_equal(mousse_prepare(dirty.opt), MOUSSE_OK);
    run(&clean, 0, 12, 0.0f);
    run(&dirty, 0, 12, NAN);
    assert_memory_equal(clean.value, dirty.value, sizeof clean.value);
    mousse_destroy(clean.opt);
    mousse_destroy(dirty.opt);
  }
}

static double distance(const float *a, const float *b, size_t count)
{
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += pow((double)a[i] - (double)b[i], 2);
  return sqrt(sum);
}

static void test_fused_form_equals_plain_form(void **state)
{
  (void)state;
  static const char *const sides[] = {"both", "left", "right", "small"};
  static const char *const blocks[] = {"0", "8"};
  for (size_t s = 0; s < 8; s++) {
    trial plain, fused;
    float initial[ALL];
    trial *both[2] = {&plain, &fused};
    for (size_t i = 0; i < 2; i++) {
      start(both[i], "mousse");
      assert_int_equal(mousse_set_text(both[i]->opt, 0, "sides", sides[s / 2]), MOUSSE_OK);
      assert_int_equal(mousse_set_text(both[i]->opt, 0, "block", blocks[s % 2]), MOUSSE_OK);
      assert_int_equal(mousse_set_text(both[i]->opt, 0, "form", i ? "fused" : "plain"),
                       MOUSSE_OK);
      memcpy(initial, both[i]->value, sizeof initial);
      assert_int_equal(mousse_prepare(both[i]->opt), MOUSSE_OK);
      run(both[i], 0, 25, 0.0f);
    }
    assert_true(distance(plain.value, fused.value, ALL) <
                1e-4 * distance(plain.value, initial, ALL));
    mousse_destroy(plain.opt);
    mousse_destroy(fused.opt);
  }
}

typedef struct notes {
  int count;
  char text[4096];
  double update_rms, condition, residual, grad_norm;
} notes;

static void take_note(void *user, const char *param, const char *quantity, double value)
{
  notes *n = user;
  assert_string_equal(param, "w");
  n->count++;
  const size_t used = strlen(n->text);
  snprintf(n->text + used, sizeof n->text - used, "%s ", quantity);
  if (strcmp(quantity, "update_rms") == 0) n->update_rms = value;
  if (strcmp(quantity, "left_condition") == 0) n->condition = value;
  if (strcmp(quantity, "ns_residual") == 0) n->residual = value;
  if (strcmp(quantity, "grad_norm") == 0) n->grad_norm = value;
}

static void test_observer_is_told_and_changes_nothing(void **state)
{
  (void)state;
  trial quiet, watched;
  notes n = {0};
  start(&quiet, "mousse");
  start(&watched, "mousse");
  assert_int_equal(mousse_prepare(quiet.opt), MOUSSE_OK);
  assert_int_equal(mousse_prepare(watched.opt), MOUSSE_OK);
  assert_int_equal(mousse_observe(watched.opt, take_note, &n), MOUSSE_OK);
  run(&quiet, 0, 1, 0.0f);
  run(&watched, 0, 1, 0.0f);
  assert_memory_equal(quiet.value, watched.value, sizeof quiet.value);
  static const char *const wanted[] = {"grad_norm ",
                                       "update_rms ",
                                       "left_rms ",
                                       "left_condition ",
                                       "left_min ",
                                       "left_max ",
                                       "right_rms ",
                                       "right_max ",
                                       "right_condition ",
                                       "left_normalised_",
                                       "right_normalised_rms",
                                       "ns_residual",
                                       "refreshes",
                                       "fallbacks"};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    assert_non_null(strstr(n.text, wanted[i]));
  assert_true(fabs(n.grad_norm / sqrt(mo_sum_squares(watched.grad, ALL)) - 1) < 1e-9);
  /* N has ROWS singular values near 1, and the graft keeps its norm. */
  assert_true(fabs(n.update_rms / (sqrt((double)ROWS / COLS) * sqrt((double)ROWS / ALL)) - 1) <
              0.2);
  assert_true(n.condition > 1 && n.residual > 0 && n.residual < 0.5);
  const int first = n.count;
  run(&watched, 1, 1, 0.0f);
  assert_true(n.count - first < first); /* no spectra between refreshes */
  assert_int_equal(mousse_observe(watched.opt, NULL, NULL), MOUSSE_OK);
  n.count = 0;
  run(&watched, 2, 1, 0.0f);
  assert_int_equal(n.count, 0);
  mousse_destroy(quiet.opt);
  mousse_destroy(watched.opt);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ladder_of_solvers),
      cmocka_unit_test(test_roots_have_their_exponent),
      cmocka_unit_test(test_units_follow_the_gradient),
      cmocka_unit_test(test_workspace_contents_do_not_matter),
      cmocka_unit_test(test_fused_form_equals_plain_form),
      cmocka_unit_test(test_observer_is_told_and_changes_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
