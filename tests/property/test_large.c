/* test_large.c - the matrices of a GPT-2-small MLP, a side whose workspace LAPACK cannot count in
 * floats (n = 2896: 1 + 6 n + 2 n^2 is beyond 2^24), and matrices so large that several threads work
 * on one. */
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
  one_step(2896, 8, "sides=left refresh=eigh"); /* by itself it would take Cholesky here */
}

/* Products and statistics of the first, the root of the second are beyond what is cut
 * (src/linalg/cut.c); the third is not. */
static void start_large(rig *r, int threads)
{
  const mousse_env env = {.struct_size = sizeof env, .threads = threads};
  rig_start(r, &env);
  rig_add(r, "mousse", 640, 1920, "refresh_every=2 sides=small");
  rig_add(r, "mousse", 40, 2304, "sides=right");
  rig_add(r, "muon", 96, 64, "");
  rig_prepare(r);
}

static void test_threads_share_a_matrix_with_the_same_bits(void **state)
{
  (void)state;
  static const int threads[] = {1, 2, 3, 4, 7, 16};
  float *expected = NULL;
  for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
    rig r;
    start_large(&r, threads[i]);
    rig_step(&r, 1);
    if (i == 0) expected = rig_weights(&r);
    if (!rig_weights_are(&r, expected)) fail_msg("%d threads: other weights", threads[i]);
    rig_stop(&r);
  }
  free(expected);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mlp_matrix_takes_a_step),
      cmocka_unit_test(test_around_the_workspace_limit),
      cmocka_unit_test(test_threads_share_a_matrix_with_the_same_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
