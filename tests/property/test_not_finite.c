/* test_not_finite.c - a NaN or Inf anywhere in any gradient: the step is refused, the tensor is
 * named, no bit of any weight or state changes, and the next good step knows nothing of it. */
#include "property/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void start(rig *r, const char *algorithm)
{
  rig_start(r, NULL);
  rig_add(r, "adamw", 1, 5, "");
  rig_add(r, algorithm, 4, 6, "");
  rig_add(r, algorithm, 7, 3, "");
  rig_prepare(r);
}

/* One refused step with the value at one place, compared with weights and state before it. */
static void refuse(rig *r, size_t param, size_t element, float value, const blob *before,
                   const float *weights)
{
  blob after;
  float *place = &r->params[param].grad[element];
  const float good = *place;
  const uint64_t steps = mousse_steps_done(r->opt);
  *place = value;
  assert_int_equal(mousse_step(r->opt), MOUSSE_NOT_FINITE);
  assert_error_mentions(r->opt, r->params[param].name);
  *place = good;
  assert_int_equal(mousse_steps_done(r->opt), steps);
  assert_true(rig_weights_are(r, weights));
  rig_save(r, &after);
  assert_int_equal(after.size, before->size);
  assert_memory_equal(after.data, before->data, after.size);
  blob_free(&after);
}

static void refuse_everywhere(rig *r, uint64_t step)
{
  static const float values[] = {NAN, INFINITY, -INFINITY};
  blob before;
  float *weights = rig_weights(r);
  rig_gradients(r, step);
  rig_save(r, &before);
  for (size_t p = 0; p < r->count; p++)
    for (size_t i = 0; i < r->params[p].count; i++)
      for (size_t v = 0; v < 3; v++) refuse(r, p, i, values[v], &before, weights);
  blob_free(&before);
  free(weights);
}

static void test_every_element_of_every_algorithm(void **state)
{
  (void)state;
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++) {
    rig r, control;
    start(&r, name);
    start(&control, name);
    for (uint64_t t = 1; t <= 12; t++) {
      /* before the first step, between refreshes and at one */
      if (t == 1 || t == 4 || t == 11) refuse_everywhere(&r, t);
      rig_step(&r, t);
      rig_step(&control, t);
    }
    assert_same_weights(&r, &control);
    rig_stop(&control);
    rig_stop(&r);
  }
}

/* The largest finite numbers are not Inf: a check by a float32 sum would refuse them. */
static void test_large_numbers_are_finite(void **state)
{
  (void)state;
  rig r;
  rig_single(&r, NULL, "adamw", 3, 50, "");
  for (size_t i = 0; i < 150; i++) r.params[0].grad[i] = i % 2 ? 3e38f : -3e38f;
  assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
  assert_true(rig_weights_finite(&r));
  rig_stop(&r);
}

/* A long gradient is looked at in pieces: the first bad one counts, in whichever it is. */
static void test_every_piece_of_a_long_gradient(void **state)
{
  (void)state;
  static const size_t places[] = {0, 65535, 65536, 131072, 199999};
  rig r;
  rig_start(&r, NULL);
  rig_add(&r, "lion", 400, 500, "");
  rig_add(&r, "muon", 4, 6, "");
  rig_prepare(&r);
  rig_step(&r, 1);
  blob before;
  float *weights = rig_weights(&r);
  rig_save(&r, &before);
  for (size_t i = 0; i < 5; i++) {
    refuse(&r, 0, places[i], NAN, &before, weights);
    char row[64];
    snprintf(row, sizeof row, "row %zu, column %zu", places[i] / 500, places[i] % 500);
    assert_error_mentions(r.opt, row);
  }
  blob_free(&before);
  free(weights);
  rig_stop(&r);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_element_of_every_algorithm),
      cmocka_unit_test(test_every_piece_of_a_long_gradient),
      cmocka_unit_test(test_large_numbers_are_finite),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
