/* test_gpt.c - configuration, parameters, passes and generation: bits, memory, refusals. */
#include "gpt_kinds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static gpt_config sized(size_t vocabulary, size_t layers, size_t heads, size_t width,
                        size_t context)
{
  return (gpt_config){.vocab_size = vocabulary,
                      .n_layer = layers,
                      .n_head = heads,
                      .n_embd = width,
                      .sequence_len = context};
}

static void refuse(gpt_config config, const char *expected)
{
  mo_error error = {{0}};
  assert_int_not_equal(gpt_config_check(&config, &error), MOUSSE_OK);
  if (strstr(error.text, expected) == NULL) fail_msg("'%s' lacks '%s'", error.text, expected);
}

static void test_config(void **state)
{
  (void)state;
  mo_error error = {{0}};
  gpt_config config;
  refuse(sized(0, 1, 1, 2, 1), "vocab_size is 0");
  refuse(sized(1, 0, 1, 2, 1), "n_layer is 0");
  refuse(sized(1, 1, 0, 2, 1), "n_head is 0");
  refuse(sized(1, 1, 1, 0, 1), "model_dim (n_embd) is 0");
  refuse(sized(1, 1, 1, 2, 0), "sequence_len is 0");
  refuse(sized(SIZE_MAX, 1, 1, 2, 1), "vocab_size");
  refuse(sized(10, 1, 3, 64, 8), "3 heads do not divide");
  refuse(sized(10, 1, 4, 12, 8), "heads of 3 numbers");
  assert_int_equal(gpt_preset("162m", &config, &error), MOUSSE_UNKNOWN_NAME);
  assert_non_null(strstr(error.text, " 162M,"));
  for (size_t i = 0; gpt_preset_name(i) != NULL; i++) {
    assert_int_equal(gpt_preset(gpt_preset_name(i), &config, &error), MOUSSE_OK);
    assert_int_equal(gpt_config_check(&config, &error), MOUSSE_OK);
  }
  assert_int_equal(gpt_preset("162M", &config, &error), MOUSSE_OK);
  assert_int_equal(gpt_parameter_count(&config), 162201600);
  assert_true(gpt_flops_per_token(&config, 1024) == 798031872.0);
  assert_int_equal(gpt_preset("834M", &config, &error), MOUSSE_OK);
  assert_int_equal(gpt_parameter_count(&config), 834011136);
}

/* What the models' own pages and files say. */
static void test_presets_of_others(void **state)
{
  (void)state;
  static const struct {
    const char *name;
    size_t parameters;
  } published[] = {
      {"gpt2", 124439808},         {"gpt2-medium", 354823168},     {"SmolLM2-135M", 134515008},
      {"SmolLM2-360M", 361821120}, {"TinyLlama-1.1B", 1100048384}, {"Qwen3-0.6B", 596049920}};
  mo_error error = {{0}};
  for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
    gpt_config config;
    assert_int_equal(gpt_preset(published[i].name, &config, &error), MOUSSE_OK);
    assert_int_equal(gpt_parameter_count(&config), published[i].parameters);
  }
}

static void test_table_is_checked(void **state)
{
  (void)state;
  gpt_config c = sized(10, 1, 4, 16, 8), other = c;
  c.n_kv_head = 3;
  refuse(c, "n_kv_head is 3, which does not divide the 4 heads");
  c.n_kv_head = 0;
  c.head_size = 5;
  refuse(c, "heads of 5 numbers");
  c.position = GPT_LEARNED;
  c.qk_norm = GPT_QK_NONE;
  mo_error error = {{0}};
  assert_int_equal(gpt_config_check(&c, &error), MOUSSE_OK);
  c = sized(10, 1, 4, 16, 8);
  c.epsilon = NAN;
  refuse(c, "epsilon is nan");
  c.epsilon = 0;
  c.rope_scaling = GPT_SCALING_LLAMA3;
  refuse(c, "rope_factor is 0");
  c.rope_factor = 8;
  c.rope_low = 4;
  c.rope_high = 1;
  c.rope_context = 100;
  refuse(c, "rope_high is 1");
  other.n_kv_head = 4; /* what it is anyway */
  c = sized(10, 1, 4, 16, 8);
  assert_true(gpt_config_equal(&c, &other));
  other.tied = true;
  assert_false(gpt_config_equal(&c, &other));
}

static void test_parameters_are_listed_and_initialised(void **state)
{
  (void)state;
  gpt_params *params = make_params(&odd, true);
  const gpt_tensor *t = params->tensors;
  const size_t C = odd.n_embd;
  size_t count = 0;
  assert_int_equal(params->tensor_count, 2 + 6 * odd.n_layer);
  assert_string_equal(t[0].name, "transformer.wte.weight");
  assert_string_equal(t[1].name, "transformer.h.0.attn.c_q.weight");
  assert_string_equal(t[12].name, "transformer.h.1.mlp.c_proj.weight");
  assert_string_equal(t[13].name, "lm_head.weight");
  assert_int_equal(t[0].role, GPT_EMBED);
  assert_int_equal(t[12].role, GPT_MATRIX);
  assert_int_equal(t[13].role, GPT_HEAD);
  assert_true(t[12].rows == C && t[12].cols == 4 * C);
  assert_ptr_equal(t[2].value, t[1].value + C * C);
  assert_ptr_equal(t[3].gradient, t[1].gradient + 2 * C * C);
  /* 1/sqrt(4C) * sqrt(C/4C) */
  assert_true(fabs(t[12].deviation - 0.5 / sqrt(4.0 * (double)C)) < 1e-12);
  for (size_t i = 0; i < params->tensor_count; i++) {
    double squares = 0;
    const size_t size = t[i].rows * t[i].cols;
    for (size_t j = 0; j < size; j++) squares += (double)t[i].value[j] * t[i].value[j];
    const double measured = sqrt(squares / (double)size) / t[i].deviation;
    assert_true(fabs(measured - 1.0) < 0.15);
    count += size;
  }
  assert_int_equal(count, params->value_count);

  gpt_params *again = make_params(&odd, false);
  gpt_params_initialise(again, 42, 1);
  assert_memory_equal(again->values, params->values, count * sizeof(float));
  gpt_params_initialise(again, 43, 1);
  assert_int_not_equal(memcmp(again->values, params->values, count * sizeof(float)), 0);
  gpt_params_destroy(again);
  gpt_params_destroy(params);
}

/* Loss and gradients of one batch at a number of threads; gradients owned by the caller. */
static float *options_threads(int threads, const gpt_batch *batch, float *loss, size_t *count)
{
  mo_error error = {{0}};
  gpt_params *params = make_params(&odd, true);
  gpt_pass *pass =
      make_pass(params, (gpt_shape){batch->batch, batch->sequence, threads, true, false});
  float plain = 0;
  assert_int_equal(gpt_gradients(pass, batch, 1.0f, false, loss, &error), MOUSSE_OK);
  assert_int_equal(gpt_loss(pass, batch, &plain, &error), MOUSSE_OK);
  assert_true(fabsf(plain - *loss) < 1e-5f);
  *count = params->value_count;
  float *gradients = malloc(*count * sizeof *gradients);
  assert_non_null(gradients);
  memcpy(gradients, params->gradients, *count * sizeof *gradients);
  gpt_pass_destroy(pass);
  gpt_params_destroy(params);
  return gradients;
}

static void test_same_bits_at_any_number_of_threads(void **state)
{
  (void)state;
  const size_t shapes[][2] = {{3, 150}, {1, 65}, {1, 1}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    const size_t rows = shapes[i][0] * shapes[i][1];
    uint32_t *tokens = make_tokens(2 * rows, odd.vocab_size, i);
    const gpt_batch batch = {tokens, tokens + rows, shapes[i][0], shapes[i][1], NULL};
    float expected_loss = 0, loss = 0;
    size_t count = 0;
    float *expected = options_threads(1, &batch, &expected_loss, &count);
    for (int threads = 1; threads <= 4; threads++) {
      float *gradients = options_threads(threads, &batch, &loss, &count);
      assert_memory_equal(gradients, expected, count * sizeof *expected);
      assert_memory_equal(&loss, &expected_loss, sizeof loss);
      free(gradients);
    }
    free(expected);
    free(tokens);
  }
}

static void test_micro_batches_add_up(void **state)
{
  (void)state;
  mo_error error = {{0}};
  gpt_params *params = make_params(&odd, true);
  gpt_pass *pass = make_pass(params, (gpt_shape){2, 70, 2, true, false});
  uint32_t *tokens = make_tokens(280, odd.vocab_size, 5);
  const size_t count = params->value_count;
  float *whole = malloc(count * sizeof *whole), loss = 0, first = 0, second = 0;
  assert_non_null(whole);
  gpt_batch batch = {tokens, tokens + 140, 2, 70, NULL};
  assert_int_equal(gpt_gradients(pass, &batch, 1.0f, false, &loss, &error), MOUSSE_OK);
  memcpy(whole, params->gradients, count * sizeof *whole);

  batch.batch = 1;
  for (size_t i = 0; i < count; i++) params->gradients[i] = 1e3f; /* must be replaced */
  assert_int_equal(gpt_gradients(pass, &batch, 0.5f, false, &first, &error), MOUSSE_OK);
  batch.tokens += 70;
  batch.targets += 70;
  assert_int_equal(gpt_gradients(pass, &batch, 0.5f, true, &second, &error), MOUSSE_OK);
  assert_true(fabsf((first + second) / 2 - loss) < 1e-5f);
  for (size_t i = 0; i < count; i++)
    assert_true(fabsf(params->gradients[i] - whole[i]) < 1e-5f);
  free(whole);
  free(tokens);
  gpt_pass_destroy(pass);
  gpt_params_destroy(params);
}

/* Copies of the gradients as they were when they were said to be complete. */
typedef struct completed {
  const gpt_params *params;
  float *copy;
  size_t runs, floats;
} completed;

static void take_run(void *user, gpt_gradient_span run)
{
  completed *c = user;
  const gpt_gradient_span expected = gpt_completed_span(c->params, c->runs++);
  assert_ptr_equal(run.gradients, expected.gradients);
  assert_int_equal(run.count, expected.count);
  memcpy(c->copy + (run.gradients - c->params->gradients), run.gradients,
         run.count * sizeof(float));
  c->floats += run.count;
}

static void test_complete_gradients_stay_as_they_are(void **state)
{
  (void)state;
  mo_error error = {{0}};
  float loss = 0;
  gpt_params *params = make_params(&odd, true);
  gpt_pass *pass = make_pass(params, (gpt_shape){2, 150, 2, true, false});
  uint32_t *tokens = make_tokens(301, odd.vocab_size, 7);
  const gpt_batch batch = {tokens, tokens + 1, 2, 150, NULL};
  completed c = {params, calloc(params->value_count, sizeof(float)), 0, 0};
  assert_non_null(c.copy);
  gpt_pass_watch(pass, take_run, &c);
  assert_int_equal(gpt_gradients(pass, &batch, 1, false, &loss, &error), MOUSSE_OK);
  assert_int_equal(c.runs, odd.n_layer + (odd.tied && odd.norm == GPT_RMS ? 1 : 2));
  assert_int_equal(gpt_completed_span(params, c.runs).count, 0);
  assert_int_equal(c.floats, params->value_count);
  assert_memory_equal(c.copy, params->gradients, params->value_count * sizeof(float));
  free(c.copy);
  free(tokens);
  gpt_pass_destroy(pass);
  gpt_params_destroy(params);
}

static void test_bad_batches_change_nothing(void **state)
{
  (void)state;
  mo_error error = {{0}};
  gpt_params *params = make_params(&odd, true);
  gpt_pass *pass = make_pass(params, (gpt_shape){1, 8, 1, true, false});
  uint32_t tokens[9] = {0};
  float loss = -1;
  gpt_batch batch = {tokens, tokens + 1, 1, 8, NULL};
  memset(params->gradients, 0x11, params->value_count * sizeof(float));
  const float before = params->gradients[0];
  tokens[8] = 53; /* the last target */
  assert_int_equal(gpt_gradients(pass, &batch, 1, false, &loss, &error), MOUSSE_OUT_OF_RANGE);
  assert_non_null(strstr(error.text, "target 7 is 53"));
  tokens[3] = UINT32_MAX;
  assert_int_equal(gpt_loss(pass, &batch, &loss, &error), MOUSSE_OUT_OF_RANGE);
  assert_non_null(strstr(error.text, "token 3"));
  batch.sequence = 9;
  assert_int_equal(gpt_loss(pass, &batch, &loss, &error), MOUSSE_OUT_OF_RANGE);
  batch.sequence = 0;
  assert_int_equal(gpt_loss(pass, &batch, &loss, &error), MOUSSE_OUT_OF_RANGE);
  assert_true(loss == -1);
  for (size_t i = 0; i < params->value_count; i++) assert_true(params->gradients[i] == before);
  gpt_pass_destroy(pass);

  const gpt_shape shapes[] = {{0, 8, 1, true, false},
                              {1, 0, 1, true, false},
                              {1, 151, 1, true, false},
                              {SIZE_MAX, 8, 1, true, false},
                              {1, 8, 100000, true, false}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    assert_int_equal(gpt_pass_create(&pass, params, &shapes[i], NULL, &error),
                     MOUSSE_OUT_OF_RANGE);
    assert_int_equal(gpt_plan_bytes(&odd, &shapes[i]), 0);
  }
  gpt_params_destroy(params);
}

static void test_evaluation_needs_no_gradient_memory(void **state)
{
  (void)state;
  mo_error error = {{0}};
  const gpt_shape training = {2, 100, 2, true, false}, evaluation = {2, 100, 2, false, false};
  assert_true(gpt_plan_bytes(&odd, &evaluation) < gpt_plan_bytes(&odd, &training) / 3 * 2);
  gpt_params *params = make_params(&odd, false), *full = make_params(&odd, true);
  gpt_pass *pass = make_pass(params, evaluation), *trainer = make_pass(full, training);
  uint32_t *tokens = make_tokens(400, odd.vocab_size, 9);
  const gpt_batch batch = {tokens, tokens + 200, 2, 100, NULL};
  float loss = 0, expected = 0;
  assert_int_equal(gpt_loss(pass, &batch, &loss, &error), MOUSSE_OK);
  assert_int_equal(gpt_loss(trainer, &batch, &expected, &error), MOUSSE_OK);
  assert_true(loss == expected);
  assert_int_equal(gpt_gradients(pass, &batch, 1, false, &loss, &error), MOUSSE_WRONG_PHASE);
  gpt_pass *none = NULL;
  assert_int_equal(gpt_pass_create(&none, params, &training, NULL, &error),
                   MOUSSE_INVALID_ARGUMENT);
  free(tokens);
  gpt_pass_destroy(pass);
  gpt_pass_destroy(trainer);
  gpt_params_destroy(params);
  gpt_params_destroy(full);
}

/* Counts bytes held and fails at the n-th call. */
typedef struct meter {
  size_t held, calls, fail_at;
} meter;

static void *meter_allocate(void *user, size_t bytes)
{
  meter *m = user;
  if (++m->calls == m->fail_at) return NULL;
  m->held += bytes;
  return malloc(bytes);
}

static void meter_release(void *user, void *block, size_t bytes)
{
  ((meter *)user)->held -= bytes;
  free(block);
}

static void test_memory_planned_is_memory_used(void **state)
{
  (void)state;
  mo_error error = {{0}};
  const gpt_shape shapes[] = {{2, 100, 3, true, false}, {1, 7, 1, false, false}};
  for (size_t i = 0; i < 2; i++) {
    meter m = {0};
    const mo_allocator allocator = {meter_allocate, meter_release, &m, false};
    gpt_params *params = NULL;
    gpt_pass *pass = NULL;
    gpt_generator *generator = NULL;
    assert_int_equal(gpt_params_create(&params, &odd, shapes[i].gradients, &allocator, &error),
                     MOUSSE_OK);
    assert_int_equal(gpt_pass_create(&pass, params, &shapes[i], &allocator, &error), MOUSSE_OK);
    assert_int_equal(m.held, gpt_plan_bytes(&odd, &shapes[i]));
    const size_t before = m.held;
    assert_int_equal(gpt_generator_create(&generator, params, 50, 2, &allocator, &error),
                     MOUSSE_OK);
    assert_int_equal(m.held - before, gpt_generator_bytes(&odd, 50, 2));
    gpt_generator_destroy(generator);
    gpt_pass_destroy(pass);
    gpt_params_destroy(params);
    assert_int_equal(m.held, 0);
  }
}

static void test_every_allocation_may_fail(void **state)
{
  (void)state;
  const gpt_shape shape = {1, 8, 1, true, false};
  for (size_t fail_at = 1; fail_at <= 7; fail_at++) {
    meter m = {.fail_at = fail_at};
    const mo_allocator allocator = {meter_allocate, meter_release, &m, false};
    mo_error error = {{0}};
    gpt_params *params = NULL;
    gpt_pass *pass = NULL;
    gpt_generator *generator = NULL;
    mousse_status status = gpt_params_create(&params, &odd, true, &allocator, &error);
    if (status == MOUSSE_OK)
      status = gpt_pass_create(&pass, params, &shape, &allocator, &error);
    if (status == MOUSSE_OK)
      status = gpt_generator_create(&generator, params, 8, 1, &allocator, &error);
    assert_int_equal(status, fail_at <= 6 ? MOUSSE_NO_MEMORY : MOUSSE_OK);
    if (fail_at <= 6) assert_non_null(strstr(error.text, "no memory"));
    gpt_generator_destroy(generator);
    gpt_pass_destroy(pass);
    gpt_params_destroy(params);
    assert_int_equal(m.held, 0);
  }
}

/* The mean loss computed from the generator's logits must be that of a full pass. */
static void test_generator_agrees_with_the_full_pass(void **state)
{
  (void)state;
  mo_error error = {{0}};
  enum { LENGTH = 140 };
  gpt_params *params = make_params(&odd, false);
  gpt_pass *pass = make_pass(params, (gpt_shape){1, LENGTH, 2, false, false});
  gpt_generator *generator = NULL;
  uint32_t *tokens = make_tokens(LENGTH + 1, odd.vocab_size, 3);
  const gpt_batch batch = {tokens, tokens + 1, 1, LENGTH, NULL};
  float expected = 0;
  double sum = 0;
  assert_int_equal(gpt_loss(pass, &batch, &expected, &error), MOUSSE_OK);
  assert_int_equal(gpt_generator_create(&generator, params, LENGTH, 2, NULL, &error),
                   MOUSSE_OK);
  for (size_t i = 0; i < LENGTH; i++) {
    double total = 0;
    assert_int_equal(gpt_generator_feed(generator, tokens + i, 1, &error), MOUSSE_OK);
    const float *logits = gpt_generator_logits(generator);
    for (size_t j = 0; j < odd.vocab_size; j++) total += exp(logits[j]);
    sum += log(total) - logits[tokens[i + 1]];
  }
  assert_true(fabs(sum / LENGTH - expected) < 1e-5);

  /* Fed at once, in one more than two blocks, the last logits are the same. */
  float last[53];
  memcpy(last, gpt_generator_logits(generator), sizeof last);
  assert_int_equal(gpt_generator_feed(generator, tokens, 1, &error), MOUSSE_OUT_OF_RANGE);
  gpt_generator_restart(generator);
  assert_int_equal(gpt_generator_feed(generator, tokens, LENGTH, &error), MOUSSE_OK);
  for (size_t j = 0; j < odd.vocab_size; j++)
    assert_true(fabsf(last[j] - gpt_generator_logits(generator)[j]) < 1e-4f);
  free(tokens);
  gpt_generator_destroy(generator);
  gpt_pass_destroy(pass);
  gpt_params_destroy(params);
}

/* Up to `limit` tokens after a prompt of three, the stop token (not stored) or a full cache. */
static size_t generate(gpt_generator *g, gpt_sampling sampling, uint32_t *output, size_t limit)
{
  mo_error error = {{0}};
  const uint32_t prompt[] = {1, 2, 3};
  size_t produced = 0;
  gpt_generator_restart(g);
  mousse_status fed = gpt_generator_feed(g, prompt, 3, &error);
  while (fed == MOUSSE_OK && produced < limit) {
    uint32_t *token = &output[produced];
    assert_int_equal(gpt_generator_sample(g, &sampling, 3 + produced, token, &error),
                     MOUSSE_OK);
    if ((int64_t)*token == sampling.stop_token) break;
    produced++;
    fed = gpt_generator_feed(g, token, 1, &error);
  }
  assert_true(fed == MOUSSE_OK || fed == MOUSSE_OUT_OF_RANGE);
  return produced;
}

static void test_sampling(void **state)
{
  (void)state;
  mo_error error = {{0}};
  gpt_params *params = make_params(&odd, false);
  gpt_generator *g = NULL;
  uint32_t a[64], b[64], prompt = 53;
  assert_int_equal(gpt_generator_create(&g, params, 20, 1, NULL, &error), MOUSSE_OK);
  gpt_sampling s = {.temperature = 1, .top_p = 1, .seed = 1, .stop_token = -1};
  assert_int_equal(gpt_generator_sample(g, &s, 0, a, &error), MOUSSE_WRONG_PHASE);
  assert_int_equal(gpt_generator_feed(g, &prompt, 1, &error), MOUSSE_OUT_OF_RANGE);
  assert_int_equal(generate(g, s, a, 10), 10);
  assert_int_equal(generate(g, s, b, 10), 10);
  assert_memory_equal(a, b, 10 * sizeof *a); /* same seed, same text */
  s.seed = 2;
  generate(g, s, b, 10);
  assert_int_not_equal(memcmp(a, b, 10 * sizeof *a), 0);
  assert_int_equal(generate(g, s, b, 64), 18); /* 20 fit: 3 given, 17 fed back, 1 more */

  s.temperature = 0; /* these three all mean: the most probable one */
  generate(g, s, a, 10);
  s.temperature = 1;
  s.top_k = 1;
  generate(g, s, b, 10);
  assert_memory_equal(a, b, 10 * sizeof *a);
  s.top_k = 0;
  s.top_p = 1e-9;
  generate(g, s, b, 10);
  assert_memory_equal(a, b, 10 * sizeof *a);
  s.stop_token = a[0];
  assert_int_equal(generate(g, s, b, 10), 0);

  s.temperature = NAN;
  assert_int_equal(gpt_generator_sample(g, &s, 0, a, &error), MOUSSE_OUT_OF_RANGE);
  s.temperature = 1;
  s.top_p = 0;
  assert_int_equal(gpt_generator_sample(g, &s, 0, a, &error), MOUSSE_OUT_OF_RANGE);
  assert_int_equal(gpt_generator_feed(g, a, 0, &error), MOUSSE_INVALID_ARGUMENT);
  gpt_generator_destroy(g);
  assert_int_equal(gpt_generator_create(&g, params, 151, 1, NULL, &error), MOUSSE_OUT_OF_RANGE);
  gpt_params_destroy(params);
}

int main(void)
{
  const struct CMUnitTest once[] = {
      cmocka_unit_test(test_config),
      cmocka_unit_test(test_presets_of_others),
      cmocka_unit_test(test_table_is_checked),
      cmocka_unit_test(test_parameters_are_listed_and_initialised),
      cmocka_unit_test(test_sampling),
  };
  const struct CMUnitTest every_kind[] = {
      cmocka_unit_test(test_same_bits_at_any_number_of_threads),
      cmocka_unit_test(test_micro_batches_add_up),
      cmocka_unit_test(test_complete_gradients_stay_as_they_are),
      cmocka_unit_test(test_bad_batches_change_nothing),
      cmocka_unit_test(test_evaluation_needs_no_gradient_memory),
      cmocka_unit_test(test_memory_planned_is_memory_used),
      cmocka_unit_test(test_every_allocation_may_fail),
      cmocka_unit_test(test_generator_agrees_with_the_full_pass),
  };
  int failed = cmocka_run_group_tests(once, NULL, NULL);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    odd = kinds[i];
    failed += cmocka_run_group_tests(every_kind, NULL, NULL);
  }
  return failed;
}
