/* test_threads.c - the same bits for any number of threads, and for distinct optimizers that
 * step at the same time on distinct threads of the caller. */
#include "property/harness.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 12, CALLERS = 3 };

static void mixture(rig *r, int threads)
{
  const mousse_env env = {.struct_size = sizeof env, .threads = threads};
  rig_start(r, &env);
  rig_add(r, "mousse", 64, 96, "refresh_every=4");
  rig_add(r, "mousse", 33, 17, "refresh_every=4 sides=small");
  rig_add(r, "muon", 48, 48, "");
  rig_add(r, "adamw", 1, 4097, "");
  rig_add(r, "soap", 20, 31, "refresh_every=4");
  rig_add(r, "shampoo", 31, 20, "refresh_every=4");
  rig_add(r, "lion", 100, 70, "");
  rig_add(r, "mousse", 96, 40, "refresh_every=4 block=32");
  rig_add(r, "adamw", 300, 450, ""); /* so long that several threads share it */
  rig_add(r, "lion", 1, 65537, "");
  rig_add(r, "sgd", 331, 211, "nesterov=on");
  rig_prepare(r);
}

static void test_any_number_of_threads_gives_the_same_bits(void **state)
{
  (void)state;
  float *expected = NULL;
  blob expected_state = blob_new(), saved;
  for (int threads = 1; threads <= 4; threads *= 2) {
    rig r;
    mixture(&r, threads);
    for (uint64_t t = 1; t <= STEPS; t++) rig_step(&r, t);
    if (threads == 1) {
      expected = rig_weights(&r);
      rig_save(&r, &expected_state);
    }
    if (!rig_weights_are(&r, expected)) fail_msg("%d threads: other weights", threads);
    rig_save(&r, &saved);
    assert_int_equal(saved.size, expected_state.size);
    assert_memory_equal(saved.data, expected_state.data, saved.size);
    blob_free(&saved);
    rig_stop(&r);
  }
  blob_free(&expected_state);
  free(expected);
}

static void ignore(void *user, const char *name, const char *quantity, double value)
{
  (void)user, (void)name, (void)quantity, (void)value;
}

/* An observer is told about whole parameters, so nothing is cut while there is one. */
static void test_cut_and_whole_give_the_same_bits(void **state)
{
  (void)state;
  rig cut, whole;
  mixture(&cut, 2);
  mixture(&whole, 2);
  assert_int_equal(mousse_observe(whole.opt, ignore, NULL), MOUSSE_OK);
  for (uint64_t t = 1; t <= STEPS; t++) {
    rig_step(&cut, t);
    rig_step(&whole, t);
  }
  assert_same_weights(&cut, &whole);
  rig_stop(&cut);
  rig_stop(&whole);
}

/* A caller's thread: only steps, and keeps the first failure for the main thread. */
typedef struct caller {
  rig r;
  mousse_status status;
} caller;

static void *step_on_its_own(void *argument)
{
  caller *c = argument;
  for (uint64_t t = 1; t <= STEPS && c->status == MOUSSE_OK; t++) {
    rig_gradients(&c->r, t);
    c->status = mousse_step(c->r.opt);
  }
  return NULL;
}

static void test_distinct_optimizers_on_distinct_threads(void **state)
{
  (void)state;
  caller alone = {.status = MOUSSE_OK}, callers[CALLERS];
  pthread_t threads[CALLERS];
  mixture(&alone.r, 1);
  step_on_its_own(&alone);
  assert_int_equal(alone.status, MOUSSE_OK);
  float *expected = rig_weights(&alone.r);
  for (int i = 0; i < CALLERS; i++) {
    callers[i].status = MOUSSE_OK;
    mixture(&callers[i].r, 1 + i % 2);
  }
  for (int i = 0; i < CALLERS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, step_on_its_own, &callers[i]), 0);
  for (int i = 0; i < CALLERS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  for (int i = 0; i < CALLERS; i++) {
    assert_int_equal(callers[i].status, MOUSSE_OK);
    assert_true(rig_weights_are(&callers[i].r, expected));
    rig_stop(&callers[i].r);
  }
  free(expected);
  rig_stop(&alone.r);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_any_number_of_threads_gives_the_same_bits),
      cmocka_unit_test(test_cut_and_whole_give_the_same_bits),
      cmocka_unit_test(test_distinct_optimizers_on_distinct_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
