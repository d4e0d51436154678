/* test_fine_tuning.c - which tensors of a run learn, and how fast. */
#include "comm/comm.h"
#include "tiny_run.h"
#include "train/estimate.h"
#include "train/model_files.h"
#include "train/run_model.h"
#include "train/session.h"
#include "train/train.h"

#include <math.h>
#include <string.h>

static void must(mousse_status status, const mo_error *error)
{
  if (status != MOUSSE_OK) fail_msg("%s", error->text);
}

/* A tiny run by AdamW, whose steps are proportional to the learning rate. */
static train_options one_step(void **state, const char *out)
{
  train_options run = tiny_run(state);
  tiny_set(&run, "optimizer", "adamw");
  tiny_set(&run, "weight_decay", "0");
  tiny_set(&run, "num_iterations", "1");
  tiny_set(&run, "out", scratch_path(state, out));
  return run;
}

static gpt_params *weights_after(const train_options *run)
{
  static const train_display nobody = {.user = NULL};
  mo_error error = {{0}};
  train_outcome outcome;
  model_files files;
  gpt_params *params = NULL;
  must(train_execute(run, &mo_comm_self, &nobody, &outcome, &error), &error);
  must(model_files_find(&files, run->out, NULL, &error), &error);
  must(model_files_load(&files, &params, &error), &error);
  return params;
}

/* How far a tensor moved from the first weights. */
static double moved(const gpt_params *params, size_t tensor)
{
  gpt_params *first = NULL;
  double sum = 0;
  assert_int_equal(gpt_params_create(&first, &params->config, false, NULL, NULL), MOUSSE_OK);
  gpt_params_initialise(first, 1, 1);
  const gpt_tensor *a = &params->tensors[tensor], *b = &first->tensors[tensor];
  for (size_t i = 0; i < a->rows * a->cols; i++)
    sum += fabs((double)(a->value[i] - b->value[i]));
  gpt_params_destroy(first);
  return sum;
}

/* wte by 0.1, c_q and c_k by 0.5 although a later pattern fits c_k too, all others as before. */
static void factors_change_steps(void **state)
{
  train_options plain = one_step(state, "plain"), some = one_step(state, "some");
  tiny_set(&some, "lr_factor", "wte=0.1|c_q|c_k=0.5|c_k=3");
  gpt_params *before = weights_after(&plain), *after = weights_after(&some);
  for (size_t i = 0; i < after->tensor_count; i++) {
    const char *name = after->tensors[i].name;
    const double wanted = strstr(name, "wte")                          ? 0.1
                          : strstr(name, "c_q") || strstr(name, "c_k") ? 0.5
                                                                       : 1;
    const double ratio = moved(after, i) / moved(before, i);
    if (!(fabs(ratio - wanted) < 1e-3)) fail_msg("%s: %g instead of %g", name, ratio, wanted);
  }
  gpt_params_destroy(before);
  gpt_params_destroy(after);
}

static void factors_are_planned(void **state)
{
  train_options run = one_step(state, "run");
  gpt_config config;
  train_estimate plain, some;
  mo_error error = {{0}};
  must(run_model_find(&run, NULL, NULL, &config, &error), &error);
  must(estimate_open(&plain, &run, &config, 1, NULL, &error), &error);
  tiny_set(&run, "lr_factor", "lm_head=0.25");
  must(estimate_open(&some, &run, &config, 1, NULL, &error), &error);
  for (size_t i = 0; i < some.tensor_count; i++)
    assert_true(some.tensors[i].lr ==
                plain.tensors[i].lr * (strstr(some.tensors[i].name, "lm_head") ? 0.25 : 1));
  estimate_close(&plain);
  estimate_close(&some);
}

static void factors_that_are_refused(void **state)
{
  static const struct {
    const char *text, *expected;
  } cases[] = {{"wte", "'wte' is not PATTERN=FACTOR"},
               {"=2", "is not PATTERN=FACTOR"},
               {"wte=", "is not PATTERN=FACTOR"},
               {"wte=much", "is not PATTERN=FACTOR"},
               {"wte=0", "a factor from 1e-06 to 1000"},
               {"wte=nan", "is not PATTERN=FACTOR"},
               {"wte=1e4", "is not PATTERN=FACTOR"},
               {"wte=1|", "is not PATTERN=FACTOR"},
               {"wte=1|h.0", "'h.0' is not PATTERN=FACTOR"},
               {"h.[0=1", "is not a regular expression"},
               {"h{1000}=1", "has counts {}"},
               {"encoder=0.5", "'encoder' matches no trained tensor's name"}};
  train_options run = one_step(state, "run");
  gpt_config config;
  assert_int_equal(run_model_find(&run, NULL, NULL, &config, NULL), MOUSSE_OK);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    train_estimate e;
    mo_error error = {{0}};
    tiny_set(&run, "lr_factor", cases[i].text);
    assert_int_equal(estimate_open(&e, &run, &config, 1, NULL, &error),
                     MOUSSE_INVALID_ARGUMENT);
    if (strstr(error.text, cases[i].expected) == NULL) fail_msg("%s", error.text);
  }
}

static train_options with_adapters(void **state, const char *out, const char *steps)
{
  train_options run = tiny_run(state);
  tiny_set(&run, "n_layer", "2");
  tiny_set(&run, "num_iterations", steps);
  tiny_set(&run, "scheduler_type", "constant");
  tiny_set(&run, "mu", "0.9"); /* by default it depends on the number of steps */
  tiny_set(&run, "lora_rank", "2");
  tiny_set(&run, "lora_targets", "attn|c_fc");
  tiny_set(&run, "out", scratch_path(state, out));
  return run;
}

static void load_checkpoint(gpt_params **params, const train_options *run, int step)
{
  char path[4096];
  gpt_config config;
  mo_error error = {{0}};
  snprintf(path, sizeof path, "%.1000s/checkpoints/step-%010d/config.json", run->out, step);
  must(gpt_load_config(&config, path, &error), &error);
  must(gpt_params_create(params, &config, false, NULL, &error), &error);
  snprintf(path, sizeof path, "%.1000s/checkpoints/step-%010d/model.safetensors", run->out,
           step);
  must(gpt_load_weights(*params, path, &error), &error);
}

/* A checkpoint holds the first weights, unchanged, and the adapters; read, it is both in one. */
static void adapters_learn_beside_the_weights(void **state)
{
  train_options run = with_adapters(state, "adapters", "4");
  gpt_params *merged = weights_after(&run), *beside = NULL, *first = NULL;
  size_t moved_count = 0;
  load_checkpoint(&beside, &run, 4);
  assert_int_equal(beside->config.lora_rank, 2);
  assert_int_equal(merged->config.lora_rank, 0);
  must(gpt_params_create(&first, &beside->config, false, NULL, NULL), &(mo_error){{0}});
  gpt_params_initialise(first, 1, 1);
  assert_memory_equal(first->values, beside->values, first->base_values * sizeof(float));
  for (size_t i = first->base_count; i < first->tensor_count; i++)
    moved_count += memcmp(first->tensors[i].value, beside->tensors[i].value,
                          first->tensors[i].rows * first->tensors[i].cols * sizeof(float)) != 0;
  assert_int_equal(moved_count, first->tensor_count - first->base_count);
  gpt_merge_adapters(beside, 1);
  assert_int_equal(merged->value_count, beside->value_count);
  assert_memory_equal(merged->values, beside->values, merged->value_count * sizeof(float));
  gpt_params_destroy(merged);
  gpt_params_destroy(beside);
  gpt_params_destroy(first);
}

/* Four steps are four steps, also in two runs, of other threads, with activations computed again
 * and gradients summed in parts. */
static void adapters_continue_exactly(void **state)
{
  train_options whole = with_adapters(state, "whole", "4"), parts;
  gpt_params *a = weights_after(&whole), *b = NULL;
  parts = with_adapters(state, "parts", "2");
  gpt_params_destroy(weights_after(&parts));
  tiny_set(&parts, "num_iterations", "4");
  tiny_set(&parts, "threads", "3");
  tiny_set(&parts, "recompute", "on");
  b = weights_after(&parts);
  assert_memory_equal(a->values, b->values, a->value_count * sizeof(float));
  gpt_params_destroy(a);
  gpt_params_destroy(b);
}

static void other_adapters_are_another_run(void **state)
{
  static const train_display nobody = {.user = NULL};
  train_options run = with_adapters(state, "run", "2");
  train_outcome outcome;
  mo_error error = {{0}};
  gpt_params_destroy(weights_after(&run));
  tiny_set(&run, "num_iterations", "4");
  tiny_set(&run, "lora_rank", "3");
  assert_int_equal(train_execute(&run, &mo_comm_self, &nobody, &outcome, &error),
                   MOUSSE_INVALID_ARGUMENT);
  if (strstr(error.text, "adapters of rank 2") == NULL) fail_msg("%s", error.text);
}

/* What was trained with adapters is a model to go on with, with or without new ones. */
static void adapters_are_merged_into_a_start(void **state)
{
  static const char *const ranks[] = {"0", "5"};
  train_options run = with_adapters(state, "from", "4");
  gpt_params *merged = weights_after(&run);
  for (size_t i = 0; i < 2; i++) {
    train_session s;
    mo_error error = {{0}};
    train_options next = with_adapters(state, ranks[i], "4");
    tiny_set(&next, "lora_rank", ranks[i]);
    tiny_set(&next, "init", run.out);
    must(session_open(&s, &next, &mo_comm_self, NULL, &error), &error);
    assert_memory_equal(merged->values, s.params->values, merged->value_count * sizeof(float));
    assert_int_equal(s.params->config.lora_rank, i == 0 ? 0 : 5);
    session_close(&s);
  }
  gpt_params_destroy(merged);
}

/* Frozen tensors take no memory but for their values, and the plan says what is taken. */
static void plans_of_frozen_models_hold(void **state)
{
  static const char *const cases[][2] = {{"lora_rank", "2"}, {"freeze", "wte|mlp|lm_head"}};
  for (size_t i = 0; i < 2; i++) {
    train_options run = tiny_run(state);
    train_session s;
    train_estimate e, full;
    mo_error error = {{0}};
    tiny_set(&run, "n_layer", "5");
    tiny_set(&run, "model_dim", "64");
    tiny_set(&run, "out", scratch_path(state, cases[i][0]));
    gpt_config config;
    must(run_model_find(&run, NULL, NULL, &config, &error), &error);
    must(estimate_open(&full, &run, &config, 1, NULL, &error), &error);
    tiny_set(&run, cases[i][0], cases[i][1]);
    tiny_set(&run, "recompute", i == 0 ? "on" : "off");
    must(session_open(&s, &run, &mo_comm_self, NULL, &error), &error);
    must(estimate_open(&e, &run, &s.params->config, 1, NULL, &error), &error);
    assert_int_equal(e.optimizer_bytes, mousse_bytes_held(s.groups.optimizer));
    assert_int_equal(e.gradient_bytes, s.params->gradient_count * sizeof(float));
    assert_int_equal(e.trained, s.params->gradient_count);
    assert_int_equal(gpt_outline_bytes(s.params),
                     s.params->arena.bytes + MO_ALIGNMENT + sizeof *s.params);
    assert_true(e.model_bytes < full.model_bytes && e.optimizer_bytes < full.optimizer_bytes);
    estimate_close(&e);
    estimate_close(&full);
    session_close(&s);
  }
}

/* The shards' targets: tokens whose number has no remainder below `share` of five. */
static void write_targets(void **state, const char *name, size_t share)
{
  targets_writer writer;
  assert_int_equal(targets_writer_open(&writer, scratch_path(state, name), NULL), MOUSSE_OK);
  for (size_t i = 0; i < TINY_TOKENS; i++)
    assert_int_equal(targets_writer_add(&writer, i % 50 % 5 < share && i % 50 < 30, 1, NULL),
                     MOUSSE_OK);
  assert_int_equal(targets_writer_commit(&writer, NULL), MOUSSE_OK);
}

/* A step's loss and gradient are means over the batch's targets, however it is cut. */
static void completions_are_weighed(void **state)
{
  static const char *const cuts[][2] = {{"8", "1"}, {"1", "1"}, {"2", "4"}};
  float *first = NULL;
  double loss = 0;
  train_options run = tiny_run(state);
  write_targets(state, "x_train_000000.targets", 2);
  tiny_set(&run, "batch_size", "8");
  for (size_t i = 0; i < 3; i++) {
    train_session s;
    mo_error error = {{0}};
    tiny_set(&run, "device_batch_size", cuts[i][0]);
    tiny_set(&run, "slices", cuts[i][1]);
    tiny_set(&run, "out", scratch_path(state, cuts[i][0]));
    must(session_open(&s, &run, &mo_comm_self, NULL, &error), &error);
    for (size_t micro = s.gradient.first; micro < s.gradient.end; micro++) {
      gpt_batch batch;
      must(gradient_batch(&s.gradient, 1, micro, &batch, &error), &error);
      must(gradient_add(&s.gradient, micro, &batch, &error), &error);
    }
    must(gradient_sum(&s.gradient, MOUSSE_OK, &error), &error);
    const gradient_result result = gradient_measure(&s.gradient);
    uint64_t targets = 0;
    must(loader_targets(&s.data.train, 1, &targets, &error), &error);
    assert_int_equal(s.gradient.counted, targets);
    assert_true(s.gradient.counted > 0 && s.gradient.counted < 8 * 8);
    if (first == NULL) {
      first = malloc(s.params->gradient_count * sizeof *first);
      assert_non_null(first);
      memcpy(first, s.params->gradients, s.params->gradient_count * sizeof *first);
      loss = result.loss;
    }
    assert_true(fabs(loss - result.loss) < 1e-6);
    for (size_t k = 0; k < s.params->gradient_count; k++)
      assert_true(fabsf(first[k] - s.params->gradients[k]) < 1e-6f);
    session_close(&s);
  }
  free(first);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      scratch_test(factors_change_steps),
      scratch_test(factors_are_planned),
      scratch_test(factors_that_are_refused),
      scratch_test(adapters_learn_beside_the_weights),
      scratch_test(adapters_continue_exactly),
      scratch_test(other_adapters_are_another_run),
      scratch_test(adapters_are_merged_into_a_start),
      scratch_test(plans_of_frozen_models_hold),
      scratch_test(completions_are_weighed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
