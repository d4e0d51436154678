/* test_large.c - the matrices of a GPT-2-small MLP, and the sizes around which the workspace
 * query of LAPACK's float eigen-solver is one short (n = 2895). */
#include "property/harness.h"

#include <stdlib.h>

static void one_step(size_t rows, size_t cols, const char *options)
{
  rig r;
  rig_single(&r, NULL, "mousse", rows, cols, options);
  float *before = rig_weights(&r);
  rig_step(&r, 1);
  assert_true(rig_weights_finite(&r));
  assert_false(rig_weights_are(&r, before));
  free(before);
  rig_stop(&r);
}

static void test_mlp_matrix_takes_a_step(void **state)
{
  (void)state;
  one_step(3072, 768, "sides=both");
}

static void test_around_the_workspace_limit(void **state)
{
  (void)state;
  for (size_t n = 2894; n <= 2897; n++) one_step(n, 8, "sides=left");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mlp_matrix_takes_a_step),
      cmocka_unit_test(test_around_the_workspace_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
