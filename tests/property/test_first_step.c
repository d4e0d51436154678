/* test_first_step.c - what a first step makes is made once, whatever the number of steps says and whether
 * there is a gradient. */
#include "property/stream.h"

#include <stdlib.h>
#include <string.h>

static void run(rig *r, uint64_t first, uint64_t last)
{
  for (uint64_t t = first; t <= last; t++) rig_step(r, t);
}

static bool has_moved(rig *r, uint64_t step)
{
  float *before = rig_weights(r);
  rig_step(r, step);
  const bool moved = !rig_weights_are(r, before);
  free(before);
  return moved;
}

/* A number of steps, with the moments or without, is no basis and no root: what a first step
 * makes is made, and weights move from then on. */
static void test_steps_without_their_state(void **state)
{
  (void)state;
  const char *algorithm, *name;
  for (size_t a = 0; (algorithm = mousse_algorithm_name(a)) != NULL; a++)
    for (int moments = 0; moments < 2; moments++) {
      rig r;
      rig_single(&r, NULL, algorithm, 4, 5, "weight_decay=0");
      assert_int_equal(mousse_set_param(r.opt, "p0", "steps", 3), MOUSSE_OK);
      for (size_t i = 0; moments && (name = mousse_state_name(r.opt, "p0", i)) != NULL; i++) {
        float data[20];
        fill_normal(data, 20, 1, 7, i);
        if (strcmp(name, "momentum") == 0 && mousse_state_count(r.opt, "p0", name) == 20)
          assert_int_equal(mousse_state_write(r.opt, "p0", name, data, 20), MOUSSE_OK);
      }
      for (uint64_t t = 1; t <= 5; t++)
        if (!has_moved(&r, t) && !(t == 1 && first_step_is_idle(algorithm)))
          fail_msg("%s stands still in step %d", algorithm, (int)t);
      rig_stop(&r);
    }
}

/* A load between the number of steps and the first one changes nothing, whether the stream says that
 * there was none or not. */
static void test_steps_without_their_state_are_saved(void **state)
{
  (void)state;
  const char *algorithm;
  for (size_t a = 0; (algorithm = mousse_algorithm_name(a / 2)) != NULL; a++) {
    rig r, loaded;
    blob saved, stream;
    rig_single(&r, NULL, algorithm, 4, 5, "");
    rig_single(&loaded, NULL, algorithm, 4, 5, "");
    assert_int_equal(mousse_set_param(r.opt, "p0", "steps", 3), MOUSSE_OK);
    rig_save(&r, &saved);
    stream = stream_version(&saved, 3 + a % 2);
    rig_load(&loaded, &stream);
    run(&r, 1, 4);
    run(&loaded, 1, 4);
    if (!rig_weights_are(&loaded, r.params[0].value)) fail_msg("%s", algorithm);
    blob_free(&stream);
    blob_free(&saved);
    rig_stop(&loaded);
    rig_stop(&r);
  }
}

/* Such steps have no statistics either: the basis of a long side is found as often as after none. */
static void test_steps_without_their_state_span_nothing(void **state)
{
  (void)state;
  rig r, other;
  rig_single(&r, NULL, "soapmuon", 4, 18, "");
  rig_single(&other, NULL, "soapmuon", 4, 18, "");
  assert_int_equal(mousse_set_param(other.opt, "p0", "steps", 1000), MOUSSE_OK);
  run(&r, 1, 8);
  run(&other, 1, 8);
  assert_same_weights(&other, &r);
  rig_stop(&other);
  rig_stop(&r);
}

/* limuon's momentum begins as the gradient, unless it was written: H corrects one that was kept. */
static void test_steps_without_a_corrected_momentum(void **state)
{
  (void)state;
  static const char *const ranks[] = {"rank=0", "rank=2"};
  for (int k = 0; k < 2; k++) {
    rig first, later, written;
    const float momentum[20] = {1};
    rig_single(&first, NULL, "limuon", 4, 5, ranks[k]);
    rig_single(&later, NULL, "limuon", 4, 5, ranks[k]);
    rig_single(&written, NULL, "limuon", 4, 5, ranks[k]);
    const size_t count = mousse_state_count(written.opt, "p0", "momentum");
    assert_int_equal(mousse_set_param(later.opt, "p0", "steps", 10), MOUSSE_OK);
    assert_int_equal(mousse_set_param(written.opt, "p0", "steps", 10), MOUSSE_OK);
    assert_int_equal(mousse_state_write(written.opt, "p0", "momentum", momentum, count),
                     MOUSSE_OK);
    run(&first, 1, 1);
    run(&later, 1, 1);
    run(&written, 1, 1);
    assert_same_weights(&later, &first);
    assert_false(rig_weights_are(&written, first.params[0].value));
    rig_stop(&written);
    rig_stop(&later);
    rig_stop(&first);
  }
}

/* Before version 4, 0 steps meant a first step. It is one when `steps` is set then: no update by soap. */
static void test_no_steps_with_a_state(void **state)
{
  (void)state;
  rig r;
  blob saved, stream;
  rig_single(&r, NULL, "soap", 4, 5, "weight_decay=0");
  run(&r, 1, 3);
  assert_int_equal(mousse_set_param(r.opt, "p0", "steps", 0), MOUSSE_OK);
  rig_save(&r, &saved);
  stream = stream_version(&saved, 3);
  rig_load(&r, &stream);
  assert_int_equal(mousse_set_param(r.opt, "p0", "steps", 10), MOUSSE_OK);
  assert_true(!has_moved(&r, 4) && has_moved(&r, 5));
  blob_free(&stream), blob_free(&saved), rig_stop(&r);
}

/* No gradient in the first step: no subspace either, until there is one; and klshampoo, which divides
 * by eigenvalues relative to the first one, still waits for it. */
static void test_a_first_gradient_of_zero(void **state)
{
  (void)state;
  const char *algorithm;
  for (size_t a = 0; (algorithm = mousse_algorithm_name(a)) != NULL; a++) {
    rig r;
    rig_single(&r, NULL, algorithm, 4, 5, "weight_decay=0");
    memset(r.params[0].grad, 0, 20 * sizeof(float));
    if (r.params[0].inputs[0] != NULL) fill_inputs(&r.params[0], 0);
    assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
    for (uint64_t t = 2; t <= 4; t++) {
      const bool waits = t == 2 && strcmp(algorithm, "klshampoo") == 0;
      if (has_moved(&r, t) == waits) fail_msg("%s is wrong in step %d", algorithm, (int)t);
    }
    rig_stop(&r);
  }
}
int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_steps_without_their_state),
      cmocka_unit_test(test_steps_without_their_state_are_saved),
      cmocka_unit_test(test_steps_without_their_state_span_nothing),
      cmocka_unit_test(test_steps_without_a_corrected_momentum),
      cmocka_unit_test(test_no_steps_with_a_state),
      cmocka_unit_test(test_a_first_gradient_of_zero),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
