/* test_rebind.c - parameters that move between steps, and the names that are registered. */
#include "property/harness.h"

#include <stdlib.h>
#include <string.h>

static void start(rig *r)
{
  rig_start(r, NULL);
  rig_add(r, "mousse", 5, 7, "refresh_every=2");
  rig_add(r, "adamw", 1, 9, "");
}

/* Moves parameter p to new arrays with the same weights; the old ones are poisoned and freed.
 */
static void move(rig *r, rig_param *p)
{
  const size_t bytes = p->count * sizeof(float);
  float *value = malloc(bytes), *grad = malloc(bytes);
  assert_true(value != NULL && grad != NULL);
  memcpy(value, p->value, bytes);
  memcpy(grad, p->grad, bytes);
  assert_int_equal(mousse_rebind(r->opt, p->name, value, grad), MOUSSE_OK);
  memset(p->value, 0xff, bytes);
  memset(p->grad, 0xff, bytes);
  free(p->value);
  free(p->grad);
  p->value = value;
  p->grad = grad;
}

static void test_moving_changes_nothing(void **state)
{
  (void)state;
  rig r, control;
  start(&r);
  start(&control);
  move(&r, &r.params[0]); /* also before prepare */
  rig_prepare(&r);
  rig_prepare(&control);
  for (uint64_t t = 1; t <= 8; t++) {
    move(&r, &r.params[t % 2]);
    rig_step(&r, t);
    rig_step(&control, t);
  }
  assert_same_weights(&r, &control);
  rig_stop(&control);
  rig_stop(&r);
}

static void test_two_parameters_may_swap_gradients(void **state)
{
  (void)state;
  rig r;
  rig_start(&r, NULL);
  rig_add(&r, "sgd", 2, 3, "mu=0 lr=1 weight_decay=0");
  rig_add(&r, "sgd", 2, 3, "mu=0 lr=1 weight_decay=0");
  rig_prepare(&r);
  assert_int_equal(mousse_rebind(r.opt, "p0", r.params[0].value, r.params[1].grad), MOUSSE_OK);
  const float before = r.params[0].value[2];
  assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
  assert_true(r.params[0].value[2] == before - r.params[1].grad[2]);
  rig_stop(&r);
}

/* Two tensors change places, and a whole arena moves by less than its own length: all at once,
 * where one after the other would be refused half-way. */
static void test_several_move_at_once(void **state)
{
  (void)state;
  rig r, control;
  enum { COUNT = 35 };
  float arena[2 * COUNT + 8], grads[2 * COUNT];
  rig_start(&r, NULL);
  rig_start(&control, NULL);
  for (size_t i = 0; i < 2; i++) {
    rig_add(&r, "muon", 5, 7, "");
    rig_add(&control, "muon", 5, 7, "");
    memcpy(arena + i * COUNT, r.params[i].value, COUNT * sizeof(float));
  }
  rig_prepare(&r);
  rig_prepare(&control);
  mousse_binding b[2] = {{"p0", arena, grads}, {"p1", arena + COUNT, grads + COUNT}};
  assert_int_equal(mousse_rebind_all(r.opt, b, 2), MOUSSE_OK);
  for (uint64_t t = 1; t <= 4; t++) {
    float moved[2 * COUNT];
    float *const start = arena + (t < 3 ? 4 * t : 0); /* overlaps what was there before */
    memcpy(moved, b[0].value, COUNT * sizeof(float));
    memcpy(moved + COUNT, b[1].value, COUNT * sizeof(float));
    const bool swap = t == 2;
    b[0].value = start + (swap ? COUNT : 0);
    b[1].value = start + (swap ? 0 : COUNT);
    assert_int_equal(mousse_rebind_all(r.opt, b, 2), MOUSSE_OK);
    memcpy(b[0].value, moved, COUNT * sizeof(float));
    memcpy(b[1].value, moved + COUNT, COUNT * sizeof(float));
    rig_gradients(&control, t);
    memcpy(grads, control.params[0].grad, COUNT * sizeof(float));
    memcpy(grads + COUNT, control.params[1].grad, COUNT * sizeof(float));
    assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
    assert_int_equal(mousse_step(control.opt), MOUSSE_OK);
  }
  assert_memory_equal(b[0].value, control.params[0].value, COUNT * sizeof(float));
  assert_memory_equal(b[1].value, control.params[1].value, COUNT * sizeof(float));

  const mousse_binding twice[2] = {{"p0", arena, grads}, {"p0", arena + COUNT, grads}};
  assert_int_equal(mousse_rebind_all(r.opt, twice, 2), MOUSSE_INVALID_ARGUMENT);
  assert_error_mentions(r.opt, "twice");
  const mousse_binding clash[2] = {{"p0", arena, grads}, {"p1", arena + 3, grads}};
  assert_int_equal(mousse_rebind_all(r.opt, clash, 2), MOUSSE_INVALID_ARGUMENT);
  assert_error_mentions(r.opt, "shares memory with the value of 'p0'");
  assert_int_equal(mousse_rebind_all(r.opt, NULL, 2), MOUSSE_INVALID_ARGUMENT);
  assert_int_equal(mousse_rebind_all(r.opt, b, 2), MOUSSE_OK); /* as it was: nothing moved */
  rig_stop(&control);
  rig_stop(&r);
}

/* Memory that is a value's is no gradient's, and addresses are those of floats. */
static void test_memory_that_is_refused(void **state)
{
  (void)state;
  rig r;
  float w[40] = {0}, g[40] = {0};
  const mousse_status bad = MOUSSE_INVALID_ARGUMENT;
  start(&r);
  const float *odd = (const float *)(const void *)((const char *)g + 1);
  assert_int_equal(mousse_add_param(r.opt, 0, "x", 5, 7, w, w), bad);
  assert_error_mentions(r.opt, "its own value");
  assert_int_equal(mousse_add_param(r.opt, 0, "x", 5, 7, w, r.params[0].value), bad);
  assert_error_mentions(r.opt, "value of 'p0'");
  assert_int_equal(mousse_add_param(r.opt, 0, "x", 5, 7, r.params[0].grad, g), bad);
  assert_error_mentions(r.opt, "gradient of 'p0'");
  assert_int_equal(mousse_add_param(r.opt, 0, "x", 5, 7, w, odd), bad);
  assert_error_mentions(r.opt, "multiple of 4");
  assert_int_equal(mousse_rebind(r.opt, "p0", r.params[0].value, odd), bad);
  assert_int_equal(mousse_rebind(r.opt, "p0", w, w + 2), bad);
  assert_int_equal(mousse_add_param(r.opt, 0, "x", 5, 7, w, r.params[0].grad), MOUSSE_OK);
  rig_stop(&r);
}

static void test_bad_rebinds(void **state)
{
  (void)state;
  rig r, control;
  float w[35] = {0}, g[35] = {0};
  start(&r);
  start(&control);
  for (int phase = 0; phase < 2; phase++) {
    assert_int_equal(mousse_rebind(r.opt, "p7", w, g), MOUSSE_UNKNOWN_NAME);
    assert_error_mentions(r.opt, "p7");
    assert_int_equal(mousse_rebind(r.opt, NULL, w, g), MOUSSE_INVALID_ARGUMENT);
    if (phase == 1) {
      assert_int_equal(mousse_rebind(r.opt, "p0", NULL, g), MOUSSE_INVALID_ARGUMENT);
      assert_error_mentions(r.opt, "p0");
    }
    assert_int_equal(mousse_rebind(r.opt, "p0", r.params[1].value, g), MOUSSE_INVALID_ARGUMENT);
    assert_error_mentions(r.opt, "p1"); /* whose weights they are */
    assert_int_equal(mousse_rebind(NULL, "p0", w, g), MOUSSE_INVALID_ARGUMENT);
    if (phase == 0) rig_prepare(&r);
  }
  rig_prepare(&control);
  rig_step(&r, 1);
  rig_step(&control, 1);
  assert_same_weights(&r, &control);
  rig_stop(&control);
  rig_stop(&r);
}

static void test_names_in_order(void **state)
{
  (void)state;
  rig r;
  start(&r);
  for (int phase = 0; phase < 2; phase++) {
    assert_string_equal(mousse_param_name(r.opt, 0), "p0");
    assert_string_equal(mousse_param_name(r.opt, 1), "p1");
    assert_null(mousse_param_name(r.opt, 2));
    assert_null(mousse_param_name(r.opt, SIZE_MAX));
    if (phase == 0) rig_prepare(&r);
  }
  assert_null(mousse_param_name(NULL, 0));
  rig_stop(&r);
}

/* The caller's string may be gone after mousse_add_param. */
static void test_names_are_copied(void **state)
{
  (void)state;
  rig r;
  char name[] = "moving";
  float w[4] = {0}, g[4] = {0};
  rig_start(&r, NULL);
  int group = 0;
  assert_int_equal(mousse_add_group(r.opt, "adamw", &group), MOUSSE_OK);
  assert_int_equal(mousse_add_param(r.opt, group, name, 2, 2, w, g), MOUSSE_OK);
  memset(name, 'x', sizeof name - 1);
  assert_string_equal(mousse_param_name(r.opt, 0), "moving");
  rig_stop(&r);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_moving_changes_nothing),
      cmocka_unit_test(test_two_parameters_may_swap_gradients),
      cmocka_unit_test(test_several_move_at_once),
      cmocka_unit_test(test_memory_that_is_refused),
      cmocka_unit_test(test_bad_rebinds),
      cmocka_unit_test(test_names_in_order),
      cmocka_unit_test(test_names_are_copied),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
