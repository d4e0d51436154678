/* test_train.c - schedules, options, groups, gradients, metrics and event files. */
#include "base/random.h"
#include "comm/comm.h"
#include "tiny_run.h"
#include "train/estimate.h"
#include "train/evaluate.h"
#include "train/metrics.h"
#include "train/run_model.h"
#include "train/session.h"
#include "train/tensorboard.h"
#include "train/text_sample.h"
#include "train/unused_options.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

/* cmocka's own comparison is of floats. */
static void near(double a, double b, double tolerance)
{
  if (!(fabs(a - b) <= tolerance)) fail_msg("%.17g is not %.17g", a, b);
}

static void schedules(void **state)
{
  (void)state;
  const train_schedule cosine = schedule_make(TRAIN_COSINE, 100, 0.1, 0.1);
  near(schedule_factor(&cosine, 0), 0.1, 1e-12);
  near(schedule_factor(&cosine, 9), 1.0, 1e-12);
  near(schedule_factor(&cosine, 10), 1.0, 1e-12);
  near(schedule_factor(&cosine, 55), 0.5, 1e-12);
  near(schedule_factor(&cosine, 99), 0.5 * (1 + cos(M_PI * 89 / 90)), 1e-12);
  const train_schedule wsd = schedule_make(TRAIN_WSD, 100, 0.1, 0.2);
  near(schedule_factor(&wsd, 4), 0.5, 1e-12);
  near(schedule_factor(&wsd, 79), 1.0, 1e-12);
  near(schedule_factor(&wsd, 80), 1.0, 1e-12);
  near(schedule_factor(&wsd, 90), 0.5, 1e-12);
  near(schedule_factor(&wsd, 99), 0.05, 1e-12);
  const train_schedule constant = schedule_make(TRAIN_CONSTANT, 100, 0, 0.5);
  near(schedule_factor(&constant, 0), 1.0, 0);
  near(schedule_factor(&constant, 99), 1.0, 0);
  /* Ratios that have no exact binary form give the steps that were meant. */
  assert_int_equal(schedule_make(TRAIN_COSINE, 100, 0.29, 0).warmup, 29);
  assert_int_equal(schedule_make(TRAIN_COSINE, 10, 0.15, 0).warmup, 1);
}

static char notices[4096];

static void collect(void *user, const char *text)
{
  (void)user;
  strncat(notices, text, sizeof notices - strlen(notices) - 2);
  strcat(notices, "\n");
}

static const run_notices collector = {collect, NULL};

static void options(void **state)
{
  train_options run;
  mo_error error = {{0}};
  (void)state;
  notices[0] = '\0';
  assert_int_equal(options_defaults(&run, &error), MOUSSE_OK);
  assert_int_equal(options_set(&run, "num-iterations", "2k", NULL, &error), MOUSSE_OK);
  assert_int_equal(run.num_iterations, 2000);
  assert_int_equal(options_set(&run, "LR_correction", "True", NULL, &error), MOUSSE_OK);
  assert_string_equal(run.LR_correction, "true");
  assert_int_equal(options_set(&run, "shuffle", "True", NULL, &error), MOUSSE_OK);
  assert_true(run.shuffle);
  assert_int_equal(options_set(&run, "out", "True", NULL, &error), MOUSSE_OK);
  assert_string_equal(run.out, "True"); /* a name, not a switch */
  assert_int_equal(options_set(&run, "opt.graft", "off", NULL, &error), MOUSSE_OK);
  assert_int_equal(options_set(&run, "opt.graft", "on", NULL, &error), MOUSSE_OK);
  assert_int_equal(options_set(&run, "scalar.beta1", "0.9", NULL, &error), MOUSSE_OK);
  assert_int_equal(run.option_count, 2);
  assert_string_equal(run.options[0].value, "on");
  assert_int_equal(options_set(&run, "wandb_project", "x", &collector, &error), MOUSSE_OK);
  assert_non_null(strstr(notices, "wandb_project"));
  assert_int_equal(options_set(&run, "sequence_lenght", "4", NULL, &error),
                   MOUSSE_UNKNOWN_NAME);
  assert_non_null(strstr(error.text, "did you mean 'sequence_length'"));
  assert_int_equal(options_set(&run, "warmup_ratio", "nan", NULL, &error), MOUSSE_OUT_OF_RANGE);
  assert_int_equal(options_set(&run, "batch_size", "0", NULL, &error), MOUSSE_OUT_OF_RANGE);
  assert_int_equal(options_set(&run, "optimizer", "muon", NULL, &error), MOUSSE_OK);
  assert_int_equal(options_check(&run, &error), MOUSSE_OK);
  tiny_set(&run, "scheduler_type", "wsd");
  tiny_set(&run, "warmup_ratio", "0.95");
  assert_int_equal(options_check(&run, &error), MOUSSE_INVALID_ARGUMENT);
}

static void micro_batches_divide(void **state)
{
  train_options run;
  (void)state;
  assert_int_equal(options_defaults(&run, NULL), MOUSSE_OK);
  const struct {
    int64_t batch, expected;
    size_t slices;
  } cases[] = {{1, 1, 1},  {7, 7, 1},  {8, 1, 8},   {12, 3, 4}, {32, 4, 8}, {13, 1, 1},
               {10, 5, 2}, {64, 8, 8}, {128, 8, 8}, {48, 6, 8}, {6, 3, 2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    run.batch_size = cases[i].batch;
    assert_int_equal(options_slices(&run), cases[i].slices);
    assert_int_equal(options_micro_batch(&run), cases[i].expected);
    assert_int_equal(options_check(&run, NULL), MOUSSE_OK);
  }
  run.batch_size = 8;
  run.device_batch_size = 4;
  assert_int_equal(options_slices(&run), 2);
  run.slices = 1; /* as runs of the first edition have it */
  run.device_batch_size = 0;
  assert_int_equal(options_micro_batch(&run), 8);
}

static void model_of_a_run(void **state)
{
  train_options run;
  gpt_config config;
  const gpt_config base = {
      .vocab_size = 100, .n_layer = 3, .n_head = 2, .n_embd = 64, .sequence_len = 32};
  mo_error error = {{0}};
  (void)state;
  assert_int_equal(options_defaults(&run, NULL), MOUSSE_OK);
  tiny_set(&run, "preset", "nano");
  assert_int_equal(run_model_from(&run, NULL, 0, &config, &error), MOUSSE_OK);
  assert_int_equal(config.vocab_size, 256);
  assert_int_equal(run_model_from(&run, NULL, 999, &config, &error), MOUSSE_OK);
  assert_int_equal(config.vocab_size, 999); /* that of the data's tokenizer */
  tiny_set(&run, "vocab_size", "1024");
  tiny_set(&run, "n_layer", "7");
  assert_int_equal(run_model_from(&run, NULL, 999, &config, &error), MOUSSE_OK);
  assert_int_equal(config.vocab_size, 1024);
  assert_int_equal(config.n_layer, 7);
  assert_int_equal(run_model_from(&run, NULL, 2000, &config, &error), MOUSSE_INVALID_ARGUMENT);
  tiny_set(&run, "vocab_size", "0");
  assert_int_equal(run_model_from(&run, &base, 90, &config, &error), MOUSSE_OK);
  assert_int_equal(config.vocab_size, 100);
  assert_int_equal(config.n_embd, 64);
  assert_int_equal(run_model_from(&run, &base, 101, &config, &error), MOUSSE_INVALID_ARGUMENT);
}

static void yaml_reads_what_it_writes(void **state)
{
  train_options run, again;
  mo_error error = {{0}};
  const char *path = scratch_path(state, "config.yaml");
  assert_int_equal(options_defaults(&run, NULL), MOUSSE_OK);
  tiny_set(&run, "sample_prompt",
           "\"quoted\" \\ back\n\ttab: - # \x7f \u00e9\u4e2d\U0001f600\u2028 \ufeff\uffff"
           "\xc2\x85 \xc2\x9b"); /* U+0085 and U+009B, which C has no names for */
  tiny_set(&run, "lr", "0.012345678901234567");
  tiny_set(&run, "warmup_ratio", "0.1234567890123");
  tiny_set(&run, "opt.sides", "left");
  tiny_set(&run, "scalar.beta2", "0.99");
  tiny_set(&run, "shuffle", "no");
  assert_int_equal(options_write(&run, path, &error), MOUSSE_OK);
  assert_int_equal(options_defaults(&again, NULL), MOUSSE_OK);
  if (options_read(&again, path, NULL, &error) != MOUSSE_OK) fail_msg("%s", error.text);
  assert_memory_equal(&run, &again, sizeof run);
  tiny_set(&run, "data_dir", "a\xff");
  assert_int_equal(options_write(&run, path, &error), MOUSSE_INVALID_ARGUMENT);
}

static void yaml_mistakes(void **state)
{
  static const struct {
    const char *text, *expected;
  } cases[] = {
      {"lr: 1\nlearning: 2\n", "line 2: there is no option 'learning'"},
      {"num_iterations: many\n", "'many' is not allowed"},
      {"lr: 1\nlr: 1\n", "given twice"},
      {"lr: [1]\n", "found a list"},
      {"opt: {a: {b: {c: 1}}}\n", "found a list"},
      {"? [a]\n: 1\n", "key is not a word"},
      {"{", "not YAML"},
      {"plain\n", "key: value"},
      {"a: \"\\0\"\n", "NUL"},
      {"lr: &a 1\n", "anchors"},
      {"lr: 1\n---\nmu: 1\n", "one document too many"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    train_options run;
    mo_error error = {{0}};
    const char *path = scratch_write(state, "bad.yaml", cases[i].text, strlen(cases[i].text));
    assert_int_equal(options_defaults(&run, NULL), MOUSSE_OK);
    assert_int_not_equal(options_read(&run, path, NULL, &error), MOUSSE_OK);
    if (strstr(error.text, cases[i].expected) == NULL)
      fail_msg("'%s' gave: %s", cases[i].text, error.text);
  }
}

/* Nesting and long lists end where they begin to cost. */
static void yaml_is_bounded(void **state)
{
  enum { SIZE = 60000 };
  static char text[2 * SIZE];
  static const char *const starts[] = {"a: ", "a: ", "a:\n"};
  static const char *const parts[] = {"[", "{b: ", "- &x 1\n"};
  (void)state;
  for (size_t i = 0; i < 3; i++) {
    train_options run;
    mo_error error = {{0}};
    size_t used = (size_t)sprintf(text, "%s", starts[i]);
    while (used < SIZE) used += (size_t)sprintf(text + used, "%s", parts[i]);
    assert_int_equal(options_defaults(&run, NULL), MOUSSE_OK);
    assert_int_equal(options_parse(&run, "x", text, used, NULL, &error), MOUSSE_BAD_FORMAT);
    assert_non_null(strstr(error.text, "line ")); /* found on the way, not at the end */
    assert_true(strstr(error.text, "not YAML") == NULL);
  }
  memset(text, '#', sizeof text);
  train_options run;
  assert_int_equal(options_defaults(&run, NULL), MOUSSE_OK);
  assert_int_equal(options_parse(&run, "x", text, sizeof text, NULL, NULL), MOUSSE_BAD_FORMAT);
}

/* Every group has its own learning rate, and the schedule moves all of them. */
static void groups_by_role(void **state)
{
  static const struct {
    const char *optimizer;
    double embed, head, matrix, decay;
  } cases[] = {{"mousse", 0.5, 0.5 / 4, 0.5, 0.25},
               {"soap", 0.5, 0.5 / 4, 0.5, 0.25},
               {"adamw", 0.5, 0.5, 0.5, 0.25}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const gpt_config config = {.vocab_size = 32,
                               .n_layer = 1,
                               .n_head = 2,
                               .n_embd = 16,
                               .sequence_len = 8,
                               .norm = GPT_RMS_GAIN};
    gpt_params *params = NULL;
    train_groups groups;
    train_options run;
    mo_error error = {{0}};
    double value = 0;
    assert_int_equal(options_defaults(&run, NULL), MOUSSE_OK);
    tiny_set(&run, "optimizer", cases[i].optimizer);
    tiny_set(&run, "lr", "0.5");
    tiny_set(&run, "weight_decay", "0.25");
    assert_int_equal(gpt_params_create(&params, &config, true, NULL, &error), MOUSSE_OK);
    if (groups_open(&groups, &run, params, NULL, NULL, &error) != MOUSSE_OK)
      fail_msg("%s", error.text);
    assert_int_equal(groups_schedule(&groups, 0.5, &error), MOUSSE_OK);
    const double expected[] = {cases[i].embed, cases[i].head, cases[i].matrix, cases[i].embed};
    assert_int_equal(groups.count, GROUP_COUNT);
    for (int role = 0; role < GROUP_COUNT; role++) {
      assert_int_equal(mousse_get(groups.optimizer, role, "lr", &value), MOUSSE_OK);
      near(value, expected[role], 1e-12);
      assert_int_equal(mousse_get(groups.optimizer, role, "weight_decay", &value), MOUSSE_OK);
      near(value, role == GPT_MATRIX ? 0.25 : 0, 0);
    }
    assert_int_equal(mousse_get(groups.optimizer, MOUSSE_OBJECT, "lr_factor", &value),
                     MOUSSE_OK);
    near(value, 0.5, 0);
    groups_close(&groups);
    gpt_params_destroy(params);
  }
}

/* Options that change nothing without another one are said when they are given. */
static void unused_options_are_told(void **state)
{
  static const struct {
    const char *name, *value, *needs, *needed;
  } cases[] = {{"lookahead", "0.5", "wrapper", "lookahead"},
               {"schedule_free_beta", "0.5", "wrapper", "schedule_free"},
               {"ema_from", "3", "ema", "0.5"},
               {"lora_alpha", "3", "lora_rank", "2"},
               {"warmdown_ratio", "0.5", "scheduler_type", "wsd"},
               {"sample_prompt", "x", "sample_every", "1"},
               {"covariance_tokens", "3", "optimizer", "kfac"}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char expected[128];
    train_options run;
    assert_int_equal(options_defaults(&run, NULL), MOUSSE_OK);
    snprintf(expected, sizeof expected, "'%s' has no effect without", cases[i].name);
    notices[0] = '\0';
    unused_options_tell(&run, &collector);
    assert_string_equal(notices, "");
    tiny_set(&run, cases[i].name, cases[i].value);
    unused_options_tell(&run, &collector);
    assert_non_null(strstr(notices, expected));
    notices[0] = '\0';
    tiny_set(&run, cases[i].needs, cases[i].needed);
    unused_options_tell(&run, &collector);
    assert_string_equal(notices, "");
  }
}

/* What is given for embedding and head counts, and the learning rate that is shown is theirs. */
static void scalar_options_count(void **state)
{
  const gpt_config config = {
      .vocab_size = 32, .n_layer = 1, .n_head = 2, .n_embd = 16, .sequence_len = 8};
  gpt_params *params = NULL;
  train_groups groups;
  train_options run;
  mo_error error = {{0}};
  double value = 0;
  (void)state;
  assert_int_equal(options_defaults(&run, NULL), MOUSSE_OK);
  tiny_set(&run, "scalar.lr", "0.125");
  tiny_set(&run, "scalar.weight_decay", "0.5");
  assert_int_equal(gpt_params_create(&params, &config, true, NULL, &error), MOUSSE_OK);
  if (groups_open(&groups, &run, params, NULL, NULL, &error) != MOUSSE_OK)
    fail_msg("%s", error.text);
  for (int role = GPT_EMBED; role <= GPT_HEAD; role++) {
    assert_int_equal(mousse_get(groups.optimizer, role, "lr", &value), MOUSSE_OK);
    near(value, 0.125, 0);
    near(groups.lr[role], 0.125, 0);
    assert_int_equal(mousse_get(groups.optimizer, role, "weight_decay", &value), MOUSSE_OK);
    near(value, 0.5, 0);
  }
  groups_close(&groups);
  gpt_params_destroy(params);
}

/* The paper's names reach the library's options; what an algorithm lacks is said. */
static void paper_names(void **state)
{
  static const struct {
    const char *key, *text, *option;
    double value;
  } cases[] = {{"adjust_lr", "rms_norm", "shape", 1},
               {"use_LorR", "2", "sides", 2},
               {"shampoo_norm", "False", "graft", 0},
               {"LR_correction", "false", "bias_correction", 0},
               {"shampoo_epsilon", "1e-4", "eps", 1e-4},
               {"shampoo_beta", "0.5", "beta", 0.5},
               {"shampoo_alpha", "0.25", "alpha", 0.25},
               {"shampoo_update_freq", "3", "refresh_every", 3},
               {"mu", "0.5", "mu", 0.5}};
  const gpt_config config = {
      .vocab_size = 32, .n_layer = 1, .n_head = 2, .n_embd = 16, .sequence_len = 8};
  gpt_params *params = NULL;
  train_groups groups;
  train_options run;
  mo_error error = {{0}};
  (void)state;
  assert_int_equal(gpt_params_create(&params, &config, true, NULL, &error), MOUSSE_OK);
  assert_int_equal(options_defaults(&run, NULL), MOUSSE_OK);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    tiny_set(&run, cases[i].key, cases[i].text);
  if (groups_open(&groups, &run, params, NULL, NULL, &error) != MOUSSE_OK)
    fail_msg("%s", error.text);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double value = 0;
    assert_int_equal(mousse_get(groups.optimizer, GPT_MATRIX, cases[i].option, &value),
                     MOUSSE_OK);
    near(value, cases[i].value, 1e-12);
  }
  groups_close(&groups);
  notices[0] = '\0';
  tiny_set(&run, "optimizer", "muon");
  assert_int_equal(groups_open(&groups, &run, params, NULL, &collector, &error), MOUSSE_OK);
  assert_non_null(strstr(notices, "'shampoo_alpha' does not concern the optimizer muon"));
  assert_null(strstr(notices, "'mu'"));
  groups_close(&groups);
  tiny_set(&run, "mu", "7");
  assert_int_equal(groups_open(&groups, &run, params, NULL, NULL, &error), MOUSSE_OUT_OF_RANGE);
  assert_non_null(strstr(error.text, "mu = 7"));
  gpt_params_destroy(params);
}

static gradient_result collect_gradient(train_session *s, uint64_t step)
{
  mo_error error = {{0}};
  for (size_t micro = s->gradient.first; micro < s->gradient.end; micro++) {
    gpt_batch batch;
    assert_int_equal(gradient_batch(&s->gradient, step, micro, &batch, &error), MOUSSE_OK);
    assert_int_equal(gradient_add(&s->gradient, micro, &batch, &error), MOUSSE_OK);
  }
  assert_int_equal(gradient_sum(&s->gradient, MOUSSE_OK, &error), MOUSSE_OK);
  const gradient_result result = gradient_measure(&s->gradient);
  gradient_clip(&s->gradient, &result);
  return result;
}

/* Micro-batches give the gradient of the whole batch; clipping bounds its norm. */
static void gradients(void **state)
{
  train_options run = tiny_run(state);
  train_session whole, parts;
  mo_error error = {{0}};
  tiny_set(&run, "batch_size", "4");
  tiny_set(&run, "device_batch_size", "4");
  if (session_open(&whole, &run, &mo_comm_self, NULL, &error) != MOUSSE_OK)
    fail_msg("%s", error.text);
  const gradient_result a = collect_gradient(&whole, 1);
  train_options split = run;
  tiny_set(&split, "device_batch_size", "1");
  tiny_set(&split, "out", scratch_path(state, "split"));
  assert_int_equal(session_open(&parts, &split, &mo_comm_self, NULL, &error), MOUSSE_OK);
  const gradient_result b = collect_gradient(&parts, 1);
  assert_true(a.finite && b.finite && a.norm > 0);
  near(a.loss, b.loss, 1e-6);
  near(a.norm, b.norm, 1e-5);
  for (size_t i = 0; i < whole.params->value_count; i++)
    near((double)whole.params->gradients[i], (double)parts.params->gradients[i], 1e-5);
  parts.gradient.clip = 0.5 * a.norm;
  const gradient_result c = collect_gradient(&parts, 1);
  near(c.norm, b.norm, 0); /* the norm before clipping */
  for (size_t i = 0; i < whole.params->value_count; i++)
    near(0.5 * (double)whole.params->gradients[i], (double)parts.params->gradients[i], 1e-5);
  session_close(&whole);
  session_close(&parts);
}

/* What a run is expected to take is what it takes. */
static void estimates_hold(void **state)
{
  static const char *const optimizers[] = {"mousse", "muon", "soap", "adamw"};
  train_options run = tiny_run(state);
  tiny_set(&run, "n_layer", "3");
  for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++) {
    train_session s;
    train_estimate e;
    mo_error error = {{0}};
    tiny_set(&run, "optimizer", optimizers[i]);
    tiny_set(&run, "out", scratch_path(state, optimizers[i]));
    assert_int_equal(session_open(&s, &run, &mo_comm_self, NULL, &error), MOUSSE_OK);
    assert_int_equal(estimate_open(&e, &run, &s.params->config, 1, NULL, &error), MOUSSE_OK);
    assert_int_equal(e.optimizer_bytes, mousse_bytes_held(s.groups.optimizer));
    assert_int_equal(e.gradient_bytes, s.params->value_count * sizeof(float)); /* 2 slices */
    assert_int_equal(e.tensor_count, s.params->tensor_count);
    for (size_t t = 0; t < e.tensor_count; t++) {
      const char *name = s.params->tensors[t].name;
      assert_string_equal(e.tensors[t].name, name);
      assert_int_equal(e.tensors[t].state_bytes,
                       mousse_param_state_bytes(s.groups.optimizer, name));
    }
    estimate_close(&e);
    session_close(&s);
  }
}

static void evaluation_is_the_mean_over_windows(void **state)
{
  train_options run = tiny_run(state);
  train_session s;
  tiny_set(&run, "device_batch_size", "2");
  evaluation one, two, all;
  mo_error error = {{0}};
  assert_int_equal(session_open(&s, &run, &mo_comm_self, NULL, &error), MOUSSE_OK);
  assert_int_equal(
      evaluate(&s.data.val, s.pass, &mo_comm_self, 1, 0, NULL, NULL, NULL, &one, &error),
      MOUSSE_OK);
  assert_int_equal(
      evaluate(&s.data.val, s.pass, &mo_comm_self, 2, 1000, NULL, NULL, NULL, &all, &error),
      MOUSSE_OK);
  assert_int_equal(
      evaluate(&s.data.val, s.pass, &mo_comm_self, 2, 3, NULL, NULL, NULL, &two, &error),
      MOUSSE_OK);
  assert_int_equal(one.tokens, (TINY_TOKENS - 1) / 8 * 8);
  assert_int_equal(all.tokens, one.tokens);
  assert_int_equal(two.tokens, 3 * 8);
  near(one.loss, all.loss, 1e-6);
  session_close(&s);
}

static void metrics_are_cut_back(void **state)
{
  static const char before[] = "{\"step\": 0, \"val_loss\": 3}\n{\"step\": 1, \"loss\": 2}\n"
                               "{\"step\": 2, \"loss\": 2}\n{\"step\": 3, \"lo";
  train_metrics m;
  char *text = NULL;
  size_t size = 0;
  const step_report report = {
      .step = 2, .tokens = 10, .loss = NAN, .bits_per_byte = NAN, .skipped = true};
  const char *path = scratch_write(state, "metrics.jsonl", before, strlen(before));
  metrics_open(&m, *state, 1, true, &collector);
  metrics_step(&m, &report);
  metrics_telemetry_begin(&m, 2);
  metrics_observe(&m, "a", "x", 1.5);
  metrics_observe(&m, "a", "y", INFINITY);
  metrics_observe(&m, "b", "x", 2);
  metrics_telemetry_end(&m);
  metrics_close(&m);
  assert_int_equal(mo_file_read(NULL, path, 4096, &text, &size, NULL), MOUSSE_OK);
  assert_string_equal(text, "{\"step\": 0, \"val_loss\": 3}\n{\"step\": 1, \"loss\": 2}\n"
                            "{\"step\": 2, \"tokens\": 10, \"loss\": null, \"lr\": 0.0, "
                            "\"grad_norm\": 0.0, \"seconds\": 0.0, \"skipped\": true}\n"
                            "{\"step\": 2, \"matrix\": \"a\", \"x\": 1.5, \"y\": null}\n"
                            "{\"step\": 2, \"matrix\": \"b\", \"x\": 2.0}\n");
  mo_release(NULL, text, size + 1);
}

static void logs_never_fail(void **state)
{
  train_metrics m;
  const step_report report = {.step = 1};
  notices[0] = '\0';
  assert_int_equal(mkdir(scratch_path(state, "metrics.jsonl"), 0777), 0);
  metrics_open(&m, *state, 0, false, &collector);
  metrics_step(&m, &report);
  metrics_note(&m, "still here");
  metrics_close(&m);
  assert_non_null(strstr(notices, "metrics.jsonl: cannot open"));
}

static bool collect_byte(void *user, const char *bytes, size_t count)
{
  return mo_buffer_add(user, bytes, count);
}

/* What follows a prompt does not depend on how much is asked for, where both fit into the context:
 * in normal form C the prompt has twice its bytes. */
static void a_prompt_that_grows_is_seen_whole(void **state)
{
  enum { CHARACTERS = 20 };
  const gpt_config config = {.vocab_size = 256,
                             .n_layer = 2,
                             .n_head = 2,
                             .n_embd = 16,
                             .sequence_len = 256,
                             .position = GPT_LEARNED};
  char prompt[3 * CHARACTERS + 1] = "";
  gpt_params *params = NULL;
  mo_tokenizer tokenizer = {0};
  mo_buffer texts[2] = {{0}};
  mo_error error = {{0}};
  (void)state;
  for (size_t i = 0; i < CHARACTERS; i++) strcat(prompt, "\xe0\xa5\x98"); /* U+0958 */
  assert_int_equal(gpt_params_create(&params, &config, false, NULL, &error), MOUSSE_OK);
  mo_random_fill(params->values, params->value_count, 1, 3, 0);
  assert_int_equal(tokenizer_make_bytes(&tokenizer, &error), MOUSSE_OK);
  tokenizer.nfc = true;
  for (size_t i = 0; i < 2; i++) {
    const text_request request = {.tokens = i == 0 ? 4 : 100,
                                  .sampling = {.top_p = 1, .stop_token = -1},
                                  .put = collect_byte,
                                  .user = &texts[i]};
    if (text_sample(params, &tokenizer, prompt, 1, &request, &error) != MOUSSE_OK)
      fail_msg("%s", error.text);
    assert_int_equal(texts[i].size, request.tokens);
  }
  assert_memory_equal(texts[0].data, texts[1].data, 4);
  mo_buffer_close(&texts[0]);
  mo_buffer_close(&texts[1]);
  tokenizer_close(&tokenizer);
  gpt_params_destroy(params);
}

/* A model of zeros gives every token the same chance, so the text is the random numbers: beyond
 * the context no stretch of them comes back, not even that of another seed. */
static void long_texts_do_not_repeat(void **state)
{
  enum { CONTEXT = 16, WINDOW = CONTEXT / 2, FIRST = CONTEXT, WINDOWS = 12 };
  const gpt_config config = {
      .vocab_size = 256, .n_layer = 1, .n_head = 2, .n_embd = 8, .sequence_len = CONTEXT};
  gpt_params *params = NULL;
  mo_tokenizer tokenizer = {0};
  mo_buffer texts[2] = {{0}};
  mo_error error = {{0}};
  (void)state;
  assert_int_equal(gpt_params_create(&params, &config, false, NULL, &error), MOUSSE_OK);
  assert_int_equal(tokenizer_make_bytes(&tokenizer, &error), MOUSSE_OK);
  for (uint64_t seed = 0; seed < 2; seed++) {
    const text_request request = {
        .tokens = FIRST + WINDOWS * WINDOW,
        .sampling = {.temperature = 1, .top_p = 1, .seed = 5 + seed, .stop_token = -1},
        .put = collect_byte,
        .user = &texts[seed]};
    if (text_sample(params, &tokenizer, "", 1, &request, &error) != MOUSSE_OK)
      fail_msg("%s", error.text);
    assert_int_equal(texts[seed].size, FIRST + WINDOWS * WINDOW);
  }
  for (size_t i = 0; i < 2 * WINDOWS; i++)
    for (size_t k = 0; k < i; k++) {
      const char *a = texts[i % 2].data + FIRST + i / 2 * WINDOW;
      const char *b = texts[k % 2].data + FIRST + k / 2 * WINDOW;
      assert_true(memcmp(a, b, WINDOW) != 0);
      assert_true(memcmp(a, texts[k % 2].data + WINDOW, WINDOW) != 0);
    }
  params->values[params->value_count - 1] = NAN;
  const text_request request = {.tokens = 1, .sampling = {.top_p = 1}};
  assert_int_equal(text_sample(params, &tokenizer, "", 1, &request, &error), MOUSSE_NOT_FINITE);
  mo_buffer_close(&texts[0]);
  mo_buffer_close(&texts[1]);
  tokenizer_close(&tokenizer);
  gpt_params_destroy(params);
}

/* The published check value of CRC-32C, and one record byte by byte. */
static void event_records(void **state)
{
  unsigned char record[TENSORBOARD_MOST];
  uint64_t length = 0;
  uint32_t crc = 0;
  (void)state;
  assert_int_equal(tensorboard_crc("123456789", 9), 0xe3069283);
  assert_int_equal(tensorboard_crc("", 0), 0);
  const size_t bytes = tensorboard_scalar(record, 1.5, 300, "loss", 2.5f);
  static const unsigned char event[] = {0x09, 0,    0,    0,    0,   0,
                                        0,    0xf8, 0x3f,     /* wall_time 1.5 */
                                        0x10, 0xac, 0x02,     /* step 300 */
                                        0x2a, 13,   0x0a, 11, /* summary { value { */
                                        0x0a, 4,    'l',  'o',  's', 's', /* tag */
                                        0x15, 0,    0,    0x20, 0x40};    /* simple_value 2.5 */
  memcpy(&length, record, 8);
  assert_int_equal(length, sizeof event);
  assert_int_equal(bytes, sizeof event + 16);
  assert_memory_equal(record + 12, event, sizeof event);
  memcpy(&crc, record + 8, 4);
  assert_int_equal(crc, tensorboard_masked_crc(record, 8));
  memcpy(&crc, record + 12 + sizeof event, 4);
  assert_int_equal(crc, tensorboard_masked_crc(event, sizeof event));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(schedules),
      cmocka_unit_test(options),
      cmocka_unit_test(micro_batches_divide),
      cmocka_unit_test(model_of_a_run),
      scratch_test(yaml_reads_what_it_writes),
      scratch_test(yaml_mistakes),
      cmocka_unit_test(yaml_is_bounded),
      cmocka_unit_test(groups_by_role),
      cmocka_unit_test(scalar_options_count),
      cmocka_unit_test(unused_options_are_told),
      cmocka_unit_test(paper_names),
      scratch_test(gradients),
      scratch_test(estimates_hold),
      scratch_test(evaluation_is_the_mean_over_windows),
      scratch_test(metrics_are_cut_back),
      scratch_test(logs_never_fail),
      cmocka_unit_test(long_texts_do_not_repeat),
      cmocka_unit_test(a_prompt_that_grows_is_seen_whole),
      cmocka_unit_test(event_records),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
