/* test_optim.c - what the public API does not show: units, workspaces, forms, observers. */
#include "base/random.h"
#include "check.h"
#include "linalg/vector.h"
#include "optim/averages.h"
#include "optim/grad_scale.h"
#include "optim/optimizer.h"
#include "optim/stages/fused.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 12, COLS = 20, ALL = ROWS * COLS };

/* From unit 0, as a step of a single rank does it. */
static int adapt(float largest, const mo_state_array *parts, size_t count, float *const *arrays)
{
  if (!mo_grad_scale_outgrown(0, largest)) return 0;
  const int held = mo_grad_scale_held(0, parts, count, arrays);
  return mo_grad_scale_change(0, largest, held, parts, count, arrays);
}

static void test_units_follow_the_gradient(void **state)
{
  (void)state;
  float momentum[4] = {1.0f, -2.0f, 0.5f, 0.0f}, second[4] = {1.0f, 4.0f, 0.25f, 0.0f};
  float basis[1] = {0.75f}, *const arrays[] = {momentum, second, basis};
  const mo_state_array parts[] = {{"m", 4, 1, {0}}, {"v", 4, 2, {0}}, {"q", 1, 0, {0}}};
  assert_int_equal(adapt(1e-9f, parts, 3, arrays), 0);
  assert_int_equal(adapt(0.0f, parts, 3, arrays), 0);
  assert_int_equal(adapt(1e-38f, parts, 3, arrays), 0); /* the state is still large */
  assert_int_equal(adapt(1e30f, parts, 3, arrays), 96);
  assert_true(momentum[1] == -2.0f * 0x1p-96f);
  assert_true(second[1] == 0.0f || second[1] == 4.0f * 0x1p-140f * 0x1p-52f);
  assert_true(basis[0] == 0.75f);

  float fresh[4] = {0};
  float *const zero[] = {fresh, fresh, basis};
  assert_int_equal(adapt(1e-38f, parts, 3, zero), -96);
  assert_int_equal(adapt(3e38f, parts, 3, zero), 96);
  assert_true(mo_grad_scale(-96) == 0x1p96f && mo_grad_scale(0) == 1.0f);
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
    if (mousse_algorithm_input(mousse_algorithm_name(i), 0) != NULL) continue;
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

/* What the table says of an algorithm, so that ranks may divide its tensors: two halves under
 * names of their own come out like the whole. */
static void test_elementwise_algorithms_can_be_cut(void **state)
{
  (void)state;
  enum { HALF = ALL / 2 };
  for (size_t i = 0; mo_algorithm_at(i) != NULL; i++) {
    trial whole, halves;
    if (!mo_algorithm_at(i)->element_wise) continue;
    start(&whole, mo_algorithm_at(i)->name);
    mo_random_fill(halves.value, ALL, 1.0, 1, 1);
    assert_int_equal(mousse_create(NULL, &halves.opt), MOUSSE_OK);
    mousse_add_group(halves.opt, mo_algorithm_at(i)->name, &halves.group);
    mousse_add_param(halves.opt, halves.group, "a", 1, HALF, halves.value, halves.grad);
    mousse_add_param(halves.opt, halves.group, "b", 1, HALF, halves.value + HALF,
                     halves.grad + HALF);
    assert_int_equal(mousse_prepare(whole.opt), MOUSSE_OK);
    assert_int_equal(mousse_prepare(halves.opt), MOUSSE_OK);
    run(&whole, 0, 12, 0.0f);
    run(&halves, 0, 12, 0.0f);
    assert_memory_equal(whole.value, halves.value, sizeof whole.value);
    assert_int_equal(mousse_param_state_bytes(whole.opt, "w"),
                     2 * mousse_param_state_bytes(halves.opt, "a"));
    mousse_destroy(whole.opt);
    mousse_destroy(halves.opt);
  }
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

/* Which form is chosen goes by their operations. Whitening and unwhitening are two products each, with
 * P_L and with P_R; a side that is cut has so many columns in each as a block. */
static void test_operations_of_whitening(void **state)
{
  (void)state;
  static const size_t shapes[][2] = {{200, 200}, {200, 300}, {300, 200}};
  static const size_t blocks[] = {0, 64};
  for (size_t s = 0; s < 6; s++) {
    const mo_shape shape = {shapes[s / 2][0], shapes[s / 2][1]};
    const mo_fused none = {.shape = shape, .set = MO_JORDAN5};
    mo_fused left = none, both = none;
    left.left = both.left = mo_side_make(shape, false, blocks[s % 2]);
    both.right = mo_side_make(shape, true, blocks[s % 2]);
    const double row = 2.0 * (double)mo_elements(shape), plain = mo_plain_flops(&none, false);
    const double one = row * (double)left.left.block;
    const double two = one + row * (double)both.right.block;
    assert_true(plain > 0 && mo_plain_flops(&none, true) == plain);
    for (int outer = 0; outer < 2; outer++) {
      const double times = outer ? 2 : 1;
      assert_true(fabs(mo_plain_flops(&left, outer) - plain - times * one) < 1e-9 * plain);
      assert_true(fabs(mo_plain_flops(&both, outer) - plain - times * two) < 1e-9 * plain);
    }
  }
}

/* Which steps refreshed each of several equal matrices: bit t of due[i]. */
enum { MATRICES = 10, PERIOD = 5 };

typedef struct rhythm {
  float values[MATRICES][ALL], grads[MATRICES][ALL];
  double refreshes[MATRICES];
  uint32_t due[MATRICES];
  uint32_t step;
} rhythm;

static void count_refreshes(void *user, const char *param, const char *quantity, double value)
{
  rhythm *r = user;
  const int i = param[0] - 'a';
  if (strcmp(quantity, "refreshes") != 0) return;
  if (value > r->refreshes[i]) r->due[i] |= 1u << r->step;
  r->refreshes[i] = value;
}

static void run_rhythm(rhythm *r, int matrices, const char *stagger)
{
  mousse_optimizer *opt = NULL;
  int group = 0;
  *r = (rhythm){.step = 0};
  assert_int_equal(mousse_create(NULL, &opt), MOUSSE_OK);
  assert_int_equal(mousse_add_group(opt, "mousse", &group), MOUSSE_OK);
  for (int i = 0; i < matrices; i++) {
    const char name[2] = {(char)('a' + i), '\0'};
    assert_int_equal(mousse_add_param(opt, group, name, ROWS, COLS, r->values[i], r->grads[i]),
                     MOUSSE_OK);
  }
  assert_int_equal(mousse_set(opt, group, "refresh_every", PERIOD), MOUSSE_OK);
  assert_int_equal(mousse_set_text(opt, group, "stagger", stagger), MOUSSE_OK);
  assert_int_equal(mousse_prepare(opt), MOUSSE_OK);
  assert_int_equal(mousse_observe(opt, count_refreshes, r), MOUSSE_OK);
  for (r->step = 1; r->step <= 3 * PERIOD; r->step++) {
    for (int i = 0; i < matrices; i++)
      mo_random_fill(r->grads[i], ALL, 1.0, (uint64_t)i, r->step);
    assert_int_equal(mousse_step(opt), MOUSSE_OK);
  }
  mousse_destroy(opt);
}

static void test_staggered_refreshes(void **state)
{
  (void)state;
  rhythm *r = malloc(sizeof *r);
  const uint32_t together = 1u << 1 | 1u << 6 | 1u << 11;
  run_rhythm(r, MATRICES, "off");
  for (int i = 0; i < MATRICES; i++) assert_int_equal(r->due[i], together);
  run_rhythm(r, 1, "on"); /* a lone matrix keeps the rhythm of the paper */
  assert_int_equal(r->due[0], together);

  run_rhythm(r, MATRICES, "on");
  for (uint32_t step = 1; step <= 3 * PERIOD; step++) {
    int due = 0;
    for (int i = 0; i < MATRICES; i++) due += (int)(r->due[i] >> step & 1);
    if (step == 1)
      assert_int_equal(due, MATRICES); /* the first is never late */
    else
      assert_in_range(due, 1, 3); /* of 2 on average */
  }
  free(r);
}

/* Sides refreshed in each step, of a matrix with a short and a long side. */
enum { LONG = 768, LONG_STEPS = 13 };

typedef struct sides {
  double total;
  int of[LONG_STEPS + 1];
  int step;
} sides;

static void count_sides(void *user, const char *param, const char *quantity, double value)
{
  sides *s = user;
  (void)param;
  if (strcmp(quantity, "refreshes") != 0) return;
  s->of[s->step] = (int)(value - s->total);
  s->total = value;
}

/* A long side is refreshed every third time once its statistics, with beta = 0.5 after four steps,
 * are full; the short one every time. */
static void test_long_sides(void **state)
{
  (void)state;
  static float value[2 * LONG], grad[2 * LONG];
  const int expected[LONG_STEPS + 1] = {0, 2, 0, 2, 0, 1, 0, 2, 0, 1, 0, 1, 0, 2};
  mousse_optimizer *opt = NULL;
  int group = 0;
  sides s = {.step = 0};
  assert_int_equal(mousse_create(NULL, &opt), MOUSSE_OK);
  assert_int_equal(mousse_add_group(opt, "mousse", &group), MOUSSE_OK);
  assert_int_equal(mousse_add_param(opt, group, "w", 2, LONG, value, grad), MOUSSE_OK);
  assert_int_equal(mousse_set(opt, group, "beta", 0.5), MOUSSE_OK);
  assert_int_equal(mousse_set(opt, group, "refresh_every", 2), MOUSSE_OK);
  assert_int_equal(mousse_set(opt, group, "refresh_long", 3), MOUSSE_OK);
  assert_int_equal(mousse_prepare(opt), MOUSSE_OK);
  assert_int_equal(mousse_observe(opt, count_sides, &s), MOUSSE_OK);
  for (s.step = 1; s.step <= LONG_STEPS; s.step++) {
    mo_random_fill(grad, 2 * LONG, 1.0, 1, (uint64_t)s.step);
    assert_int_equal(mousse_step(opt), MOUSSE_OK);
  }
  for (int i = 1; i <= LONG_STEPS; i++) assert_int_equal(s.of[i], expected[i]);
  mousse_destroy(opt);
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
                                       "left_normalised_condition ",
                                       "right_normalised_rms ",
                                       "right_normalised_condition ",
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
  assert_true(n.count - first < first); /* normalised spectra at refreshes alone */
  assert_int_equal(mousse_observe(watched.opt, NULL, NULL), MOUSSE_OK);
  n.count = 0;
  run(&watched, 2, 1, 0.0f);
  assert_int_equal(n.count, 0);
  mousse_destroy(quiet.opt);
  mousse_destroy(watched.opt);
}

static void take_line(void *user, int level, const char *text)
{
  char *line = user;
  assert_int_equal(level, 1);
  snprintf(line, 256, "%s", text);
}

static void test_fall_backs_are_logged(void **state)
{
  (void)state;
  char line[256] = "";
  trial t;
  const mousse_env env = {.struct_size = sizeof env, .log = take_line, .user = line};
  assert_int_equal(mousse_create(&env, &t.opt), MOUSSE_OK);
  assert_int_equal(mousse_add_group(t.opt, "mousse", &t.group), MOUSSE_OK);
  mo_random_fill(t.value, ALL, 1.0, 1, 1);
  assert_int_equal(mousse_add_param(t.opt, t.group, "w", ROWS, COLS, t.value, t.grad),
                   MOUSSE_OK);
  assert_int_equal(mousse_set(t.opt, t.group, "refresh_every", 2), MOUSSE_OK);
  assert_int_equal(mousse_prepare(t.opt), MOUSSE_OK);
  run(&t, 0, 2, 0.0f);
  assert_string_equal(line, "");
  t.opt->params[0].state[1][0] = NAN; /* statistics that no solver takes */
  run(&t, 2, 1, 0.0f);
  assert_non_null(strstr(line, "'w'"));
  for (size_t i = 0; i < ALL; i++) assert_true(isfinite(t.value[i]));
  mousse_destroy(t.opt);
}

/* Statistics are averaged with floats: over many steps they must forget as fast as beta says. */
static void test_float_betas_multiply_to_the_power_of_beta(void **state)
{
  (void)state;
  static const double betas[] = {0, 0.5, 0.9, 0.95, 0.999, 0.9999, 0.999999};
  for (size_t b = 0; b < sizeof betas / sizeof *betas; b++) {
    double logarithm = 0;
    for (uint64_t t = 1; betas[b] > 0 && t <= 20000; t++) {
      logarithm += log((double)mo_float_beta(betas[b], t));
      assert_true(fabs(logarithm - (double)t * log(betas[b])) < 2e-7);
    }
  }
  assert_true(mo_float_beta(0, 5) == 0.0f && mo_float_beta(0.5, 5) == 0.5f);
}

static int say_nothing(void *context, float *data, size_t count)
{
  (void)context, (void)data, (void)count;
  return -1;
}

static int share_nothing(void *context, float *data, size_t count, int root)
{
  (void)root;
  return say_nothing(context, data, count);
}

/* Shares are sent when they are ready, and those that are ready at once in the order of their
 * parameters and elements: every rank finds one order, whatever its qsort does with equal ones. */
static void test_shares_have_one_order(void **state)
{
  (void)state;
  enum { RANKS = 4 };
  const mousse_comm comm = {0, RANKS, say_nothing, share_nothing, NULL};
  const mousse_env env = {.struct_size = sizeof env, .comm = &comm};
  mousse_optimizer *opt = NULL;
  int group = 0;
  size_t bytes = 0, equal = 0;
  assert_int_equal(mousse_create(&env, &opt), MOUSSE_OK);
  assert_int_equal(mousse_add_group(opt, "lion", &group), MOUSSE_OK);
  assert_int_equal(mousse_add_param(opt, group, "a", 1024, 1024, NULL, NULL), MOUSSE_OK);
  assert_int_equal(mousse_add_param(opt, group, "b", 512, 1024, NULL, NULL), MOUSSE_OK);
  assert_int_equal(mousse_plan(opt, 0, &bytes), MOUSSE_OK);
  assert_true(opt->sent_count > RANKS);
  for (size_t i = 1; i < opt->sent_count; i++) {
    const mo_sent *before = &opt->sent[i - 1], *next = &opt->sent[i];
    assert_true(before->ready <= next->ready);
    if (before->ready < next->ready) continue;
    equal++;
    assert_true(before->param < next->param ||
                (before->param == next->param && before->share < next->share));
  }
  assert_true(equal > 0);
  mousse_destroy(opt);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_float_betas_multiply_to_the_power_of_beta),
      cmocka_unit_test(test_units_follow_the_gradient),
      cmocka_unit_test(test_workspace_contents_do_not_matter),
      cmocka_unit_test(test_elementwise_algorithms_can_be_cut),
      cmocka_unit_test(test_fused_form_equals_plain_form),
      cmocka_unit_test(test_operations_of_whitening),
      cmocka_unit_test(test_staggered_refreshes),
      cmocka_unit_test(test_long_sides),
      cmocka_unit_test(test_shares_have_one_order),
      cmocka_unit_test(test_fall_backs_are_logged),
      cmocka_unit_test(test_observer_is_told_and_changes_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
