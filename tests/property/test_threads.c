/* test_threads.c - the same bits for any number of threads, and for distinct optimizers that
 * step at the same time on distinct threads of the caller. */
#include "property/harness.h"

#include <fenv.h>
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
  static const int counts[] = {1, 2, 3, 4, 7, 16};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    const int threads = counts[i];
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

/* Other roundings and no denormal numbers, as torch.set_flush_denormal and fesetround have them; of this
 * thread alone. */
static void set_odd_arithmetic(void)
{
  assert_int_equal(fesetround(FE_UPWARD), 0);
#ifdef __x86_64__
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#endif
}

static bool is_odd_arithmetic(void)
{
#ifdef __x86_64__
  if ((__builtin_ia32_stmxcsr() & 0x8040) != 0x8040) return false;
#endif
  return fegetround() == FE_UPWARD;
}

/* However the host has set its threads, bits are the same, and it finds them as it left them. */
static void test_the_arithmetic_of_the_host_does_not_matter(void **state)
{
  (void)state;
  for (int threads = 1; threads <= 2; threads++) {
    rig r, control;
    blob saved, expected;
    mixture(&r, threads);
    mixture(&control, threads);
    for (uint64_t t = 1; t <= STEPS; t++) {
      rig_gradients(&r, t);
      rig_gradients(&control, t);
      for (size_t i = 0; i < r.count; i++) /* denormal, every third of them */
        for (size_t e = 0; e < r.params[i].count; e += 3)
          control.params[i].grad[e] = r.params[i].grad[e] *= 0x1p-128f;
      assert_int_equal(mousse_step(control.opt), MOUSSE_OK);
      fenv_t before;
      fegetenv(&before);
      set_odd_arithmetic();
      const mousse_status status = mousse_step(r.opt);
      const bool odd = is_odd_arithmetic();
      fesetenv(&before);
      assert_int_equal(status, MOUSSE_OK);
      assert_true(odd);
    }
    assert_same_weights(&r, &control);
    rig_save(&control, &expected);
    set_odd_arithmetic();
    rig_save(&r, &saved);
    fesetenv(FE_DFL_ENV);
    assert_int_equal(saved.size, expected.size);
    assert_memory_equal(saved.data, expected.data, saved.size);
    blob_free(&saved);
    blob_free(&expected);
    rig_stop(&r);
    rig_stop(&control);
  }
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

/* A whole life, from create to destroy, of one optimizer for every algorithm; what goes wrong is
 * counted, since asserting is for the main thread. */
typedef struct life {
  size_t failures;
  float weights[64][48]; /* by algorithm */
} life;

static mousse_status live(const char *algorithm, float *w, blob *saved, mousse_optimizer **opt)
{
  float g[48], *inputs[RIG_MAX_INPUTS] = {NULL};
  mousse_env env = MOUSSE_ENV_INIT;
  int group = 0;
  env.threads = -1;
  if (mousse_create(&env, opt) == MOUSSE_OK || strstr(mousse_error(NULL), "threads") == NULL)
    return MOUSSE_INVALID_ARGUMENT;
  env.threads = 1;
  mousse_status s = mousse_create(&env, opt);
  if (!s) s = mousse_add_group(*opt, algorithm, &group);
  if (!s) s = mousse_add_param(*opt, group, "w", 6, 8, w, g);
  if (!s) bind_inputs(*opt, algorithm, "w", 6, 8, inputs);
  if (!s) s = mousse_prepare(*opt);
  for (uint64_t t = 0; !s && t < 6; t++) {
    fill_normal(g, 48, 1, t, 0);
    s = mousse_step(*opt);
    if (!s && t == 2) s = mousse_save(*opt, blob_write, saved);
    if (!s && t == 3) s = mousse_load(*opt, blob_read, saved);
  }
  for (size_t i = 0; i < RIG_MAX_INPUTS; i++) free(inputs[i]);
  return s;
}

static void *live_all(void *argument)
{
  life *l = argument;
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL && a < 64; a++) {
    mousse_optimizer *opt = NULL;
    blob saved = blob_new();
    fill_normal(l->weights[a], 48, 1, 9, a);
    l->failures += live(name, l->weights[a], &saved, &opt) != MOUSSE_OK;
    mousse_destroy(opt);
    blob_free(&saved);
  }
  return NULL;
}

static void test_whole_lives_at_the_same_time(void **state)
{
  (void)state;
  static life alone, lives[CALLERS];
  pthread_t threads[CALLERS];
  live_all(&alone);
  assert_int_equal(alone.failures, 0);
  for (int i = 0; i < CALLERS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, live_all, &lives[i]), 0);
  for (int i = 0; i < CALLERS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  for (int i = 0; i < CALLERS; i++) assert_memory_equal(&lives[i], &alone, sizeof alone);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_any_number_of_threads_gives_the_same_bits),
      cmocka_unit_test(test_the_arithmetic_of_the_host_does_not_matter),
      cmocka_unit_test(test_cut_and_whole_give_the_same_bits),
      cmocka_unit_test(test_distinct_optimizers_on_distinct_threads),
      cmocka_unit_test(test_whole_lives_at_the_same_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
