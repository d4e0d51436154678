/* test_options.c - options of the object, of all groups and of a parameter; their text; and what
 * they do to a step, for every algorithm that has a learning rate. */
#include "property/harness.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void assert_set(mousse_optimizer *opt, int group, const char *option, double value)
{
  if (mousse_set(opt, group, option, value) != MOUSSE_OK) fail_msg("%s", mousse_error(opt));
}

/* Two optimizers that must end in the same bits: one with lr set, one with factors. */
static void test_factors_multiply_the_learning_rate(void **state)
{
  (void)state;
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++) {
    rig set, factors;
    rig_single(&set, NULL, name, 6, 9, "");
    rig_single(&factors, NULL, name, 6, 9, "");
    assert_int_equal(mousse_set_param(factors.opt, "p0", "weight_decay_factor", 4), MOUSSE_OK);
    for (uint64_t t = 1; t <= 6; t++) {
      double decay = 0;
      assert_set(set.opt, 0, "lr", 0.03125 * (double)t * 0.25);
      assert_set(factors.opt, MOUSSE_ALL_GROUPS, "lr", 0.03125);
      assert_set(factors.opt, MOUSSE_OBJECT, "lr_factor", (double)t);
      assert_int_equal(mousse_set_param(factors.opt, "p0", "lr_factor", 0.25), MOUSSE_OK);
      if (mousse_get(set.opt, 0, "weight_decay", &decay) == MOUSSE_OK && t == 1)
        assert_set(set.opt, 0, "weight_decay", 4 * decay);
      rig_step(&set, t);
      rig_step(&factors, t);
    }
    if (!rig_weights_are(&factors, set.params[0].value)) fail_msg("%s", name);
    rig_stop(&factors);
    rig_stop(&set);
  }
}

static double norm_of(const rig *r)
{
  double squares = 0;
  for (size_t i = 0; i < r->count; i++)
    for (size_t e = 0; e < r->params[i].count; e++)
      squares += (double)r->params[i].grad[e] * (double)r->params[i].grad[e];
  return sqrt(squares);
}

/* Clipping equals gradients that were scaled by hand; a norm below the limit changes no bit. */
static void test_clipping(void **state)
{
  (void)state;
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++) {
    rig clipped, by_hand;
    rig *rigs[2] = {&clipped, &by_hand};
    for (int k = 0; k < 2; k++) {
      rig_start(rigs[k], NULL);
      rig_add(rigs[k], name, 6, 9, "");
      rig_add(rigs[k], "adamw", 1, 30, "");
      if (k == 0) assert_set(clipped.opt, MOUSSE_OBJECT, "clip_norm", 2);
      rig_prepare(rigs[k]);
    }
    for (uint64_t t = 1; t <= 5; t++) {
      rig_gradients(&clipped, t);
      rig_gradients(&by_hand, t);
      const double norm = norm_of(&clipped);
      assert_set(clipped.opt, MOUSSE_OBJECT, "clip_norm", t == 3 ? 1e30 : 2);
      const float factor = t == 3 ? 1.0f : (float)(2 / norm);
      for (size_t i = 0; i < by_hand.count; i++)
        for (size_t e = 0; e < by_hand.params[i].count; e++)
          by_hand.params[i].grad[e] *= factor;
      assert_int_equal(mousse_step(clipped.opt), MOUSSE_OK);
      assert_int_equal(mousse_step(by_hand.opt), MOUSSE_OK);
      assert_true(fabs(mousse_grad_norm(clipped.opt) - norm) < 1e-9 * norm);
      assert_true(mousse_grad_norm(by_hand.opt) == 0);
      clipped.params[1].grad[2] = NAN; /* no step: the norm is that of the last one */
      assert_int_equal(mousse_step(clipped.opt), MOUSSE_NOT_FINITE);
      assert_true(fabs(mousse_grad_norm(clipped.opt) - norm) < 1e-9 * norm);
    }
    assert_same_weights(&clipped, &by_hand);
    rig_stop(&clipped);
    rig_stop(&by_hand);
  }
}

static void test_clipping_is_switched_before_prepare(void **state)
{
  (void)state;
  rig r;
  rig_single(&r, NULL, "sgd", 3, 4, "");
  assert_int_equal(mousse_set(r.opt, MOUSSE_OBJECT, "clip_norm", 1), MOUSSE_WRONG_PHASE);
  assert_error_mentions(r.opt, "before mousse_prepare");
  assert_int_equal(mousse_set(r.opt, MOUSSE_OBJECT, "clip_norm", 0), MOUSSE_OK);
  r.params[0].grad[1] = INFINITY;
  assert_int_equal(mousse_step(r.opt), MOUSSE_NOT_FINITE);
  rig_stop(&r);
}

/* Bytes that an optimizer of one matrix under these options would hold. */
static size_t planned(const char *algorithm, size_t rows, size_t cols, const char *basis,
                      const char *option, double value)
{
  rig r;
  size_t bytes = 0;
  rig_start(&r, NULL);
  rig_add(&r, algorithm, rows, cols, basis);
  if (option != NULL) assert_set(r.opt, 0, option, value);
  if (mousse_plan(r.opt, 0, &bytes) != MOUSSE_OK) fail_msg("%s", mousse_error(r.opt));
  rig_stop(&r);
  return bytes;
}

static void assert_options_take_no_memory(const char *algorithm, const char *basis)
{
  static const size_t shapes[][2] = {{24, 24}, {6, 50}, {50, 6}};
  const mousse_option *o;
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
    const size_t rows = shapes[s][0], cols = shapes[s][1];
    const size_t usual = planned(algorithm, rows, cols, basis, NULL, 0);
    for (size_t i = 0; (o = mousse_algorithm_option(algorithm, i)) != NULL; i++)
      for (double value = o->min; !o->fixed && value <= o->max;
           value = o->choices != NULL || value == o->max ? value + 1 : o->max)
        if (planned(algorithm, rows, cols, basis, o->name, value) > usual)
          fail_msg("%s (%s) %zux%zu: %s = %g takes memory, but may be set after prepare",
                   algorithm, basis, rows, cols, o->name, value);
  }
}

/* What may change between steps finds the memory that it needs: prepare has taken it. */
static void test_memory_is_for_all_that_may_be_set_later(void **state)
{
  (void)state;
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++)
    assert_options_take_no_memory(name, "");
  const mousse_option *o;
  char basis[80];
  for (size_t i = 0; (o = mousse_algorithm_option("spectral", i)) != NULL; i++)
    for (size_t k = 0; o->fixed && o->choices != NULL && o->choices[k] != NULL; k++) {
      snprintf(basis, sizeof basis, "%s=%s", o->name, o->choices[k]);
      assert_options_take_no_memory("spectral", basis);
    }
}

static void test_all_groups_or_none(void **state)
{
  (void)state;
  rig r;
  double value = 0;
  rig_start(&r, NULL);
  assert_int_equal(mousse_set(r.opt, MOUSSE_ALL_GROUPS, "lr", 1), MOUSSE_UNKNOWN_NAME);
  rig_add(&r, "mousse", 3, 4, "");
  rig_add(&r, "adamw", 3, 4, "");
  assert_set(r.opt, MOUSSE_ALL_GROUPS, "lr", 0.5);
  for (int group = 0; group < 2; group++) {
    assert_int_equal(mousse_get(r.opt, group, "lr", &value), MOUSSE_OK);
    assert_true(value == 0.5);
  }
  assert_set(r.opt, MOUSSE_ALL_GROUPS, "beta1", 0.25); /* adamw alone has it */
  assert_int_equal(mousse_get(r.opt, 1, "beta1", &value), MOUSSE_OK);
  assert_true(value == 0.25);
  assert_int_equal(mousse_set(r.opt, MOUSSE_ALL_GROUPS, "lr", -1), MOUSSE_OUT_OF_RANGE);
  assert_int_equal(mousse_set(r.opt, MOUSSE_ALL_GROUPS, "beta7", 1), MOUSSE_UNKNOWN_NAME);
  assert_int_equal(mousse_set_text(r.opt, MOUSSE_ALL_GROUPS, "lr", "2"), MOUSSE_OK);
  assert_int_equal(mousse_get(r.opt, MOUSSE_ALL_GROUPS, "lr", &value), MOUSSE_INVALID_ARGUMENT);
  assert_error_mentions(r.opt, "lr");
  rig_stop(&r);
}

/* What get_text gives, set_text takes, in any locale. */
static void test_text_goes_round(void **state)
{
  (void)state;
  const char *name;
  const char *const locales[] = {"C", "de_DE.UTF-8", "fr_FR.UTF-8"};
  for (size_t l = 0; l < 3; l++) {
    if (setlocale(LC_NUMERIC, locales[l]) == NULL) continue; /* not every machine has them */
    for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++) {
      rig r;
      rig_start(&r, NULL);
      rig_add(&r, name, 4, 5, "");
      const mousse_option *option;
      for (size_t i = 0; (option = mousse_algorithm_option(name, i)) != NULL; i++) {
        char text[64];
        double value = 0;
        const double middle = option->integer ? option->max : option->initial / 3 + option->min;
        if (mousse_set(r.opt, 0, option->name, middle) != MOUSSE_OK) continue;
        assert_int_equal(mousse_get_text(r.opt, 0, option->name, text, sizeof text), MOUSSE_OK);
        if (option->choices != NULL) assert_string_equal(text, option->choices[(size_t)middle]);
        assert_set(r.opt, 0, option->name, option->initial);
        assert_int_equal(mousse_set_text(r.opt, 0, option->name, text), MOUSSE_OK);
        assert_int_equal(mousse_get(r.opt, 0, option->name, &value), MOUSSE_OK);
        if (value != middle) fail_msg("%s %s: %s", name, option->name, text);
      }
      rig_stop(&r);
    }
  }
  setlocale(LC_NUMERIC, "C");
}

static void assert_says(rig *r, int group, const char *option, const char *words)
{
  assert_int_equal(mousse_set(r->opt, group, option, 0.5), MOUSSE_UNKNOWN_NAME);
  assert_error_mentions(r->opt, words);
}

/* Names of other libraries are understood, and when nothing is near, what there is is listed. */
static void test_the_callers_words(void **state)
{
  (void)state;
  rig r;
  rig_start(&r, NULL);
  rig_add(&r, "muon", 4, 5, "");
  rig_add(&r, "adamw", 4, 5, "");
  assert_says(&r, 0, "learning_rate", "group 0 (muon) has no option 'learning_rate'");
  assert_says(&r, 0, "learning_rate", "did you mean 'lr'");
  assert_says(&r, 0, "momentum", "did you mean 'mu'");
  assert_says(&r, 1, "momentum", "did you mean 'beta1'");
  assert_says(&r, 1, "wd", "did you mean 'weight_decay'");
  assert_says(&r, 1, "epsilon", "did you mean 'eps'");
  assert_says(&r, MOUSSE_OBJECT, "max_grad_norm", "did you mean 'clip_norm'");
  assert_says(&r, 1, "xyzzy", "lr, beta1, beta2");
  assert_says(&r, 0, "clip_norm", "the optimizer has it: give MOUSSE_OBJECT");
  assert_says(&r, MOUSSE_ALL_GROUPS, "lr_factor", "the optimizer has it: give MOUSSE_OBJECT");
  assert_says(&r, 1, "steps", "parameters have it: mousse_set_param"); /* not: eps */
  assert_says(&r, MOUSSE_OBJECT, "beta1", "groups have it: give a group, or MOUSSE_ALL_GROUPS");
  assert_int_equal(mousse_set_param(r.opt, "p0", "lr", 1), MOUSSE_UNKNOWN_NAME);
  assert_error_mentions(r.opt, "parameter 'p0' has no option 'lr'; groups have it");
  assert_int_equal(mousse_set_param(r.opt, "p0", "lrfactor", 1), MOUSSE_UNKNOWN_NAME);
  assert_error_mentions(r.opt, "lr_factor");
  assert_int_equal(mousse_set_param(r.opt, "p9", "lr_factor", 1), MOUSSE_UNKNOWN_NAME);
  assert_error_mentions(r.opt, "'p9'");
  assert_int_equal(mousse_set_param(r.opt, "p0", "lr_factor", -1), MOUSSE_OUT_OF_RANGE);
  rig_stop(&r);
}

/* Numbers are told with the digits in which they differ. */
static void test_near_misses(void **state)
{
  (void)state;
  static const struct {
    const char *option, *sentence;
    double value;
  } cases[] = {{"mu", "mu = 0.9999999 is out of range: 0 to 0.999999", 0.9999999},
               {"beta", "beta = 1.0000000001 is out of range", 1.0000000001},
               {"refresh_every", "refresh_every = 10.0000001 must be a whole", 10.0000001},
               {"lr", "lr = nan is out of range", NAN}};
  rig r;
  rig_start(&r, NULL);
  rig_add(&r, "mousse", 4, 5, "");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(mousse_set(r.opt, 0, cases[i].option, cases[i].value),
                     MOUSSE_OUT_OF_RANGE);
    assert_error_mentions(r.opt, cases[i].sentence);
  }
  rig_stop(&r);
}

/* A sentence of its own follows every failing call, also of those that change nothing. */
static void test_errors_are_never_those_of_another_call(void **state)
{
  (void)state;
  rig r;
  double value = 0;
  size_t bytes = 0;
  char text[2];
  rig_start(&r, NULL);
  rig_add(&r, "adamw", 4, 5, "");
  assert_int_equal(mousse_get(r.opt, 0, "nope", &value), MOUSSE_UNKNOWN_NAME);
  assert_error_mentions(r.opt, "'nope'");
  assert_int_equal(mousse_get(r.opt, 0, "lr", NULL), MOUSSE_INVALID_ARGUMENT);
  assert_error_mentions(r.opt, "mousse_get");
  assert_int_equal(mousse_get(r.opt, 7, "lr", &value), MOUSSE_UNKNOWN_NAME);
  assert_error_mentions(r.opt, "group 7");
  assert_int_equal(mousse_get_text(r.opt, 0, "beta1", text, 2), MOUSSE_INVALID_ARGUMENT);
  assert_error_mentions(r.opt, "bytes");
  assert_int_equal(mousse_rank_load(r.opt, 0, &bytes, NULL), MOUSSE_INVALID_ARGUMENT);
  assert_error_mentions(r.opt, "mousse_rank_load");
  assert_int_equal(mousse_get_param(r.opt, "p0", "steps", NULL), MOUSSE_INVALID_ARGUMENT);
  assert_error_mentions(r.opt, "mousse_get_param");
  rig_stop(&r);
}

/* There is no optimizer yet, and a sentence all the same. */
static void test_create_says_why_it_failed(void **state)
{
  (void)state;
  mousse_optimizer *opt = NULL;
  mousse_env env = MOUSSE_ENV_INIT;
  struct {
    mousse_env env;
    size_t later;
  } newer = {.env = MOUSSE_ENV_INIT, .later = 1};
#define REFUSED(word, env_pointer)                                                             \
  do {                                                                                         \
    opt = (mousse_optimizer *)(void *)&env;                                                    \
    assert_int_equal(mousse_create(env_pointer, &opt), MOUSSE_INVALID_ARGUMENT);               \
    assert_null(opt);                                                                          \
    assert_error_mentions(NULL, word);                                                         \
  } while (0)
  env.struct_size = 0;
  REFUSED("struct_size", &env);
  env.struct_size = 20; /* in the middle of a member */
  REFUSED("struct_size", &env);
  env.struct_size = sizeof env;
  env.threads = -1;
  REFUSED("threads", &env);
  env.threads = 5000;
  REFUSED("env.threads is 5000; there may be 1024", &env);
  env.threads = 0;
  env.allocate = (void *(*)(void *, size_t))(void (*)(void))abort;
  REFUSED("release", &env);
  env.allocate = NULL;
  mousse_comm comm = {.rank = 3, .size = 2};
  env.comm = &comm;
  REFUSED("broadcast", &env);
  newer.env.struct_size = sizeof newer;
  REFUSED("members", &newer.env);
#undef REFUSED
  newer.later = 0;
  assert_int_equal(mousse_create(&newer.env, &opt), MOUSSE_OK);
  mousse_destroy(opt);
}

static void test_listings(void **state)
{
  (void)state;
  rig r;
  rig_start(&r, NULL);
  rig_add(&r, "mousse", 4, 5, "");
  rig_add(&r, "lion", 1, 5, "");
  assert_string_equal(mousse_group_algorithm(r.opt, 0), "mousse");
  assert_string_equal(mousse_group_algorithm(r.opt, 1), "lion");
  assert_null(mousse_group_algorithm(r.opt, 2));
  assert_null(mousse_group_algorithm(r.opt, -1));
  assert_int_equal(mousse_param_group(r.opt, "p1"), 1);
  assert_int_equal(mousse_param_group(r.opt, "p2"), -1);
  const mousse_option *option;
  for (size_t i = 0; (option = mousse_object_option(i)) != NULL; i++) {
    double value = -1;
    assert_int_equal(mousse_get(r.opt, MOUSSE_OBJECT, option->name, &value), MOUSSE_OK);
    assert_true(value == option->initial);
  }
  for (size_t i = 0; (option = mousse_param_option(i)) != NULL; i++) {
    double value = -1;
    assert_int_equal(mousse_get_param(r.opt, "p0", option->name, &value), MOUSSE_OK);
    assert_true(value == option->initial);
  }
  rig_stop(&r);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_factors_multiply_the_learning_rate),
      cmocka_unit_test(test_clipping),
      cmocka_unit_test(test_clipping_is_switched_before_prepare),
      cmocka_unit_test(test_memory_is_for_all_that_may_be_set_later),
      cmocka_unit_test(test_all_groups_or_none),
      cmocka_unit_test(test_text_goes_round),
      cmocka_unit_test(test_the_callers_words),
      cmocka_unit_test(test_near_misses),
      cmocka_unit_test(test_errors_are_never_those_of_another_call),
      cmocka_unit_test(test_create_says_why_it_failed),
      cmocka_unit_test(test_listings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
