/* test_adapters.c - what fine-tuning asks of the model: adapters, activations computed again,
 * documents within a sequence, and targets that do not count; for every kind of model. */
#include "gpt_kinds.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BATCH = 2, LENGTH = 80, ROWS = BATCH * LENGTH };

static void must(mousse_status status, const mo_error *error)
{
  if (status != MOUSSE_OK) fail_msg("%s", error->text);
}

/* Loss and gradients of one call; the gradients are those in params. */
static float run(gpt_params *params, const gpt_batch *batch, int threads, bool recompute)
{
  mo_error error = {{0}};
  float loss = 0;
  gpt_pass *pass =
      make_pass(params, (gpt_shape){batch->batch, batch->sequence, threads, true, recompute});
  must(gpt_gradients(pass, batch, 1, false, &loss, &error), &error);
  gpt_pass_destroy(pass);
  return loss;
}

static float loss_of(gpt_params *params, const gpt_batch *batch)
{
  mo_error error = {{0}};
  float loss = 0;
  gpt_pass *pass =
      make_pass(params, (gpt_shape){batch->batch, batch->sequence, 2, false, false});
  must(gpt_loss(pass, batch, &loss, &error), &error);
  gpt_pass_destroy(pass);
  return loss;
}

static gpt_config adapted(const char *targets)
{
  gpt_config c = odd;
  c.lora_rank = 3;
  snprintf(c.lora_targets, sizeof c.lora_targets, "%s", targets);
  return c;
}

/* As if it had been trained for a while: B is 0 at first. */
static void disturb(gpt_params *params)
{
  for (size_t i = params->base_count; i < params->tensor_count; i++)
    mo_random_fill(params->tensors[i].value, params->tensors[i].rows * params->tensors[i].cols,
                   0.1, 5, i);
}

static const char *const targets[] = {"", "c_q|c_v", "h\\.1\\.|mlp.c_proj", "attn.c_proj"};

/* At first the model is the one without adapters, and later the one that they are merged into. */
static void adapters_are_merged(void **state)
{
  (void)state;
  uint32_t *tokens = make_tokens(ROWS + 1, odd.vocab_size, 3);
  const gpt_batch batch = {tokens, tokens + 1, BATCH, LENGTH, NULL};
  gpt_params *plain = make_params(&odd, false);
  for (size_t k = 0; k < sizeof targets / sizeof *targets; k++) {
    const gpt_config c = adapted(targets[k]);
    gpt_params *params = make_params(&c, false);
    assert_int_equal(params->base_values, plain->value_count);
    assert_true(loss_of(params, &batch) == loss_of(plain, &batch));
    disturb(params);
    const float beside = loss_of(params, &batch);
    gpt_merge_adapters(params, 2);
    assert_int_equal(params->tensor_count, plain->tensor_count);
    const float merged = loss_of(params, &batch);
    if (!(fabsf(beside - merged) < 1e-4f)) fail_msg("%g and %g", beside, merged);
    assert_true(fabsf(merged - loss_of(plain, &batch)) > 1e-4f); /* they do something */
    gpt_params_destroy(params);
  }
  gpt_params_destroy(plain);
  free(tokens);
}

/* Only adapters have gradients, with the same bits at any number of threads. */
static void adapters_alone_are_trained(void **state)
{
  (void)state;
  uint32_t *tokens = make_tokens(ROWS + 1, odd.vocab_size, 3);
  const gpt_batch batch = {tokens, tokens + 1, BATCH, LENGTH, NULL};
  for (size_t k = 0; k < sizeof targets / sizeof *targets; k++) {
    const gpt_config c = adapted(targets[k]);
    gpt_params *params = make_params(&c, true);
    const size_t count = params->value_count - params->base_values;
    float *first = malloc(count * sizeof *first);
    assert_non_null(first);
    disturb(params);
    assert_int_equal(params->gradient_count, count);
    for (size_t i = 0; i < params->tensor_count; i++)
      assert_true((params->tensors[i].gradient != NULL) == (i >= params->base_count));
    run(params, &batch, 1, false);
    memcpy(first, params->gradients, count * sizeof *first);
    for (int threads = 2; threads <= 3; threads++) {
      run(params, &batch, threads, false);
      assert_memory_equal(first, params->gradients, count * sizeof *first);
    }
    size_t told = 0;
    for (size_t i = 0; i < gpt_completed_count(params); i++)
      told += gpt_completed_span(params, i).count;
    assert_int_equal(told, count);
    free(first);
    gpt_params_destroy(params);
  }
  free(tokens);
}

static void adapters_that_are_refused(void **state)
{
  (void)state;
  gpt_params *params = NULL;
  gpt_config c = adapted("encoder");
  mo_error error = {{0}};
  assert_int_equal(gpt_params_create(&params, &c, true, NULL, &error), MOUSSE_INVALID_ARGUMENT);
  assert_non_null(strstr(error.text, "'encoder' matches no hidden matrix's name"));
  c = adapted("c_(q");
  assert_int_equal(gpt_params_create(&params, &c, true, NULL, &error), MOUSSE_INVALID_ARGUMENT);
  assert_non_null(strstr(error.text, "is not a regular expression"));
  c = adapted(
      "c_q++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++");
  assert_int_equal(gpt_params_create(&params, &c, true, NULL, &error), MOUSSE_INVALID_ARGUMENT);
  assert_non_null(strstr(error.text, "more than 8 +"));
  c = adapted("((c{255}){255}){255}");
  assert_int_equal(gpt_params_create(&params, &c, true, NULL, &error), MOUSSE_INVALID_ARGUMENT);
  assert_non_null(strstr(error.text, "has counts"));
  c = adapted("\\\\(c_q)\\1");
  assert_int_equal(gpt_params_create(&params, &c, true, NULL, &error), MOUSSE_INVALID_ARGUMENT);
  c = adapted("h\\.0\\.");
  assert_int_equal(gpt_params_create(&params, &c, true, NULL, &error), MOUSSE_OK);
  gpt_params_destroy(params);
  params = NULL;
  c = adapted("");
  assert_int_equal(gpt_params_create_frozen(&params, &c, "wte", NULL, &error),
                   MOUSSE_INVALID_ARGUMENT);
  assert_non_null(strstr(error.text, "frozen already"));
  c.lora_rank = 5000;
  assert_int_equal(gpt_params_create(&params, &c, true, NULL, &error), MOUSSE_OUT_OF_RANGE);
  assert_null(params);
}

/* Activations that are computed again have the same bits, and less of them is kept. */
static void recomputing_changes_nothing(void **state)
{
  (void)state;
  uint32_t *tokens = make_tokens(ROWS + 1, odd.vocab_size, 3);
  const gpt_batch batch = {tokens, tokens + 1, BATCH, LENGTH, NULL};
  for (size_t layers = 1; layers <= 6; layers++) {
    gpt_config c = adapted("");
    if (layers != 5) c = odd; /* with adapters once */
    c.n_layer = layers;
    gpt_params *params = make_params(&c, true), *again = make_params(&c, true);
    const gpt_shape keep = {BATCH, LENGTH, 2, true, false},
                    spare = {BATCH, LENGTH, 2, true, true};
    disturb(params);
    disturb(again);
    assert_true(run(params, &batch, 2, false) == run(again, &batch, 2, true));
    assert_memory_equal(params->gradients, again->gradients,
                        params->gradient_count * sizeof(float));
    assert_true(layers > 4 ? gpt_pass_bytes(&c, &spare) < gpt_pass_bytes(&c, &keep)
                           : gpt_pass_bytes(&c, &spare) <= 2 * gpt_pass_bytes(&c, &keep));
    gpt_params_destroy(params);
    gpt_params_destroy(again);
  }
  free(tokens);
}

/* A sequence of documents is worth what they are worth alone, where positions are relative. */
static void documents_do_not_see_each_other(void **state)
{
  (void)state;
  static const size_t ends[] = {0, 1, 30, 67, LENGTH};
  uint32_t starts[LENGTH], *tokens = make_tokens(LENGTH + 1, odd.vocab_size, 3);
  const gpt_batch whole = {tokens, tokens + 1, 1, LENGTH, starts};
  const gpt_batch one = {tokens, tokens + 1, 1, LENGTH, NULL};
  gpt_params *params = make_params(&odd, true);
  double sum = 0;
  for (size_t k = 0; k + 1 < sizeof ends / sizeof *ends; k++) {
    const gpt_batch alone = {tokens + ends[k], tokens + ends[k] + 1, 1, ends[k + 1] - ends[k],
                             NULL};
    for (size_t i = ends[k]; i < ends[k + 1]; i++) starts[i] = (uint32_t)ends[k];
    sum += (double)loss_of(params, &alone) * (double)alone.sequence;
  }
  const float loss = loss_of(params, &whole);
  assert_true(loss != loss_of(params, &one));
  if (odd.position != GPT_LEARNED && !(fabs(loss - sum / LENGTH) < 1e-5))
    fail_msg("%g and %g", (double)loss, sum / LENGTH);
  memset(starts, 0, sizeof starts); /* one document, said in so many words */
  assert_true(loss_of(params, &whole) == loss_of(params, &one));
  gpt_params_destroy(params);
  free(tokens);
}

static void documents_that_are_refused(void **state)
{
  (void)state;
  uint32_t starts[4] = {0, 0, 2, 1}, tokens[5] = {0};
  const gpt_batch batch = {tokens, tokens + 1, 1, 4, starts};
  gpt_params *params = make_params(&odd, false);
  gpt_pass *pass = make_pass(params, (gpt_shape){1, 4, 1, false, false});
  mo_error error = {{0}};
  float loss = 0;
  assert_int_equal(gpt_loss(pass, &batch, &loss, &error), MOUSSE_OUT_OF_RANGE);
  starts[3] = 4;
  assert_int_equal(gpt_loss(pass, &batch, &loss, &error), MOUSSE_OUT_OF_RANGE);
  assert_non_null(strstr(error.text, "the document at position 3 begins at 4"));
  gpt_pass_destroy(pass);
  gpt_params_destroy(params);
}

/* The mean over two halves of the targets, weighted, is that over all; without any it is 0. */
static void targets_that_do_not_count(void **state)
{
  (void)state;
  uint32_t *tokens = make_tokens(ROWS + 1, odd.vocab_size, 3), some[ROWS], others[ROWS];
  size_t counted = 0;
  for (size_t i = 0; i < ROWS; i++) {
    const bool here = i % 5 < 2;
    some[i] = here ? tokens[i + 1] : GPT_NO_TARGET;
    others[i] = here ? GPT_NO_TARGET : tokens[i + 1];
    counted += here;
  }
  const gpt_batch all = {tokens, tokens + 1, BATCH, LENGTH, NULL};
  const gpt_batch first = {tokens, some, BATCH, LENGTH, NULL};
  const gpt_batch second = {tokens, others, BATCH, LENGTH, NULL};
  gpt_params *params = make_params(&odd, true), *parts = make_params(&odd, true);
  gpt_pass *pass = make_pass(parts, (gpt_shape){BATCH, LENGTH, 2, true, false});
  const float share = (float)counted / ROWS, loss = run(params, &all, 2, false);
  float a = 0, b = 0;
  mo_error error = {{0}};
  assert_int_equal(gpt_batch_targets(&first), counted);
  must(gpt_gradients(pass, &first, share, false, &a, &error), &error);
  must(gpt_gradients(pass, &second, 1 - share, true, &b, &error), &error);
  assert_true(fabsf(share * a + (1 - share) * b - loss) < 1e-5f);
  for (size_t i = 0; i < params->gradient_count; i++)
    assert_true(fabsf(params->gradients[i] - parts->gradients[i]) < 1e-5f);
  for (size_t i = 0; i < ROWS; i++) some[i] = GPT_NO_TARGET;
  must(gpt_gradients(pass, &first, 1, false, &a, &error), &error);
  assert_true(a == 0);
  for (size_t i = 0; i < parts->gradient_count; i++) assert_true(parts->gradients[i] == 0);
  gpt_pass_destroy(pass);
  gpt_params_destroy(params);
  gpt_params_destroy(parts);
  free(tokens);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(adapters_are_merged),
      cmocka_unit_test(adapters_alone_are_trained),
      cmocka_unit_test(adapters_that_are_refused),
      cmocka_unit_test(recomputing_changes_nothing),
      cmocka_unit_test(documents_do_not_see_each_other),
      cmocka_unit_test(documents_that_are_refused),
      cmocka_unit_test(targets_that_do_not_count),
  };
  int failed = 0;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    odd = kinds[i];
    failed += cmocka_run_group_tests(tests, NULL, NULL);
  }
  return failed;
}
