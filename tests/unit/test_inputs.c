/* test_inputs.c - arrays that an algorithm takes beside the gradient: bound by name, handed to
 * the update, checked before a step. The algorithm is made up here from sgd's table. */
#include "check.h"
#include "optim/inputs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const mousse_input inputs[] = {
    {"input_covariance", "of what the layer reads", MOUSSE_COLS, MOUSSE_COLS},
    {"output_covariance", "of what comes back", MOUSSE_ROWS, MOUSSE_ROWS},
    {"previous_gradient", "of the same batch", MOUSSE_ROWS, MOUSSE_COLS}};

/* value = the last element of each input, in turn. */
static void update(const void *config, const mo_update *u)
{
  (void)config;
  for (size_t i = 0; i < 3; i++) {
    const size_t count = mo_elements(mo_input_shape(u->shape, &inputs[i]));
    u->value[i] = u->inputs[i] != NULL ? u->inputs[i][count - 1] : -1.0f;
  }
}

static bool needs(const void *config, size_t input)
{
  (void)config;
  return input != 2;
}

typedef struct scene {
  mo_algorithm algorithm;
  mousse_optimizer *opt;
  float value[6], grad[6], input[9], output[4], previous[6];
} scene;

static void start(scene *s)
{
  int group = 0;
  *s = (scene){.algorithm = *mo_algorithm_find("sgd"),
               .input = {[8] = 3},
               .output = {[3] = 5},
               .previous = {[5] = 7}};
  s->algorithm.inputs = inputs;
  s->algorithm.input_count = 3;
  s->algorithm.element_wise = false;
  s->algorithm.update = update;
  assert_int_equal(mousse_create(NULL, &s->opt), MOUSSE_OK);
  assert_int_equal(mousse_add_group(s->opt, "sgd", &group), MOUSSE_OK);
  s->opt->groups[0].algorithm = &s->algorithm;
  assert_int_equal(mousse_add_param(s->opt, 0, "w", 2, 3, s->value, s->grad), MOUSSE_OK);
  assert_int_equal(mousse_prepare(s->opt), MOUSSE_OK);
}

static void assert_says(const scene *s, const char *words)
{
  if (strstr(mousse_error(s->opt), words) == NULL)
    fail_msg("'%s' is not in: %s", words, mousse_error(s->opt));
}

static void bind(scene *s, const char *input, const float *data)
{
  assert_int_equal(mousse_bind_input(s->opt, "w", input, data), MOUSSE_OK);
}

static void test_a_step_without_them_is_refused(void **state)
{
  (void)state;
  scene s;
  start(&s);
  assert_int_equal(mousse_step(s.opt), MOUSSE_INVALID_ARGUMENT);
  assert_says(&s, "'input_covariance' (3 x 3) of 'w'");
  bind(&s, "input_covariance", s.input);
  assert_int_equal(mousse_step(s.opt), MOUSSE_INVALID_ARGUMENT);
  assert_says(&s, "'output_covariance' (2 x 2) of 'w'");
  bind(&s, "output_covariance", s.output);
  bind(&s, "previous_gradient", s.previous);
  assert_int_equal(mousse_step(s.opt), MOUSSE_OK);
  assert_true(s.value[0] == 3 && s.value[1] == 5 && s.value[2] == 7);
  bind(&s, "previous_gradient", NULL);
  assert_int_equal(mousse_step(s.opt), MOUSSE_INVALID_ARGUMENT);
  s.algorithm.needs_input = needs;
  assert_int_equal(mousse_step(s.opt), MOUSSE_OK);
  assert_true(s.value[2] == -1);
  assert_int_equal(mousse_steps_done(s.opt), 2);
  mousse_destroy(s.opt);
}

static void test_they_must_be_finite(void **state)
{
  (void)state;
  scene s;
  start(&s);
  bind(&s, "input_covariance", s.input);
  bind(&s, "output_covariance", s.output);
  bind(&s, "previous_gradient", s.previous);
  s.output[3] = NAN;
  assert_int_equal(mousse_step(s.opt), MOUSSE_NOT_FINITE);
  assert_says(&s, "'output_covariance' of 'w'");
  assert_true(s.value[0] == 0);
  mousse_destroy(s.opt);
}

static void test_misuse(void **state)
{
  (void)state;
  scene s;
  start(&s);
  const mousse_status bad = MOUSSE_INVALID_ARGUMENT, unknown = MOUSSE_UNKNOWN_NAME;
  assert_int_equal(mousse_bind_input(NULL, "w", "previous_gradient", s.previous), bad);
  assert_int_equal(mousse_bind_input(s.opt, NULL, "previous_gradient", s.previous), bad);
  assert_int_equal(mousse_bind_input(s.opt, "w", NULL, s.previous), bad);
  const float *odd = (const float *)(const void *)((const char *)s.previous + 1);
  assert_int_equal(mousse_bind_input(s.opt, "w", "previous_gradient", odd), bad);
  assert_int_equal(mousse_bind_input(s.opt, "v", "previous_gradient", s.previous), unknown);
  assert_says(&s, "'v'");
  for (size_t i = 0; i < 3; i++) { /* each may be the one that was meant */
    char name[64], hint[80];
    snprintf(name, sizeof name, "%ss", inputs[i].name);
    snprintf(hint, sizeof hint, "did you mean '%s'", inputs[i].name);
    assert_int_equal(mousse_bind_input(s.opt, "w", name, s.previous), unknown);
    assert_says(&s, hint);
  }
  assert_int_equal(mousse_bind_input(s.opt, "w", "curvature", s.previous), unknown);
  assert_null(mousse_algorithm_input("no such", 0));
  assert_null(mousse_algorithm_input("sgd", 10));
  mousse_destroy(s.opt);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_step_without_them_is_refused),
      cmocka_unit_test(test_they_must_be_finite),
      cmocka_unit_test(test_misuse),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
