/* test_run_options.c - the options of a run, their YAML, and what the optimizer's groups get of them. */
#include "comm/comm.h"
#include "tiny_run.h"
#include "told.h"
#include "train/recipe_laws.h"
#include "train/resolve.h"
#include "train/row_blocks.h"
#include "train/run_model.h"
#include "train/session.h"

#include <string.h>
#include <sys/stat.h>

static void options(void **state)
{
  train_options run;
  mo_error error = {{0}};
  (void)state;
  told[0] = '\0';
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
  assert_non_null(strstr(told, "wandb_project"));
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
  tiny_set(&run, "n_layer", "0");
  tiny_set(&run, "sequence_length", "16");
  assert_int_equal(run_model_from(&run, &base, 90, &config, &error), MOUSSE_OK);
  assert_int_equal(config.sequence_len, 16);
  assert_int_equal(config.vocab_size, 100);
  assert_int_equal(config.n_embd, 64);
  assert_int_equal(run_model_from(&run, &base, 101, &config, &error), MOUSSE_INVALID_ARGUMENT);
}

/* Most of these change a tensor's shape; the number of heads does not. */
static void model_of_given_weights(void **state)
{
  static const char *const cases[][3] = {{"model_dim", "128", "64"},
                                         {"n_layer", "2", "3"},
                                         {"n_head", "4", "2"},
                                         {"vocab_size", "200", "100"}};
  const gpt_config base = {
      .vocab_size = 100, .n_layer = 3, .n_head = 2, .n_embd = 64, .sequence_len = 32};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    train_options run;
    gpt_config config;
    mo_error error = {{0}};
    assert_int_equal(options_defaults(&run, NULL), MOUSSE_OK);
    tiny_set(&run, cases[i][0], cases[i][1]);
    assert_int_equal(run_model_from(&run, &base, 90, &config, &error), MOUSSE_INVALID_ARGUMENT);
    assert_non_null(strstr(error.text, "the run starts from has"));
    tiny_set(&run, cases[i][0], cases[i][2]);
    assert_int_equal(run_model_from(&run, &base, 90, &config, &error), MOUSSE_OK);
  }
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
      {"width: 8\nmodel_dim: 16\n", "line 2: 'model_dim' is the same option as 'width'"},
      {"batch-size: 8\nbatch_size: 8\n", "'batch_size' is the same option as 'batch-size'"},
      {"lr: [1]\n", "found a list"},
      {"opt: {a: {b: {c: 1}}}\n", "found a list"},
      {"? [a]\n: 1\n", "key is not a word"},
      {"{", "not YAML"},
      {"plain\n", "key: value"},
      {"a: \"\\0\"\n", "NUL"},
      {"\"lr\\0x\": 1\n", "a key contains a NUL"},
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
    double embed, head, vector;
  } cases[] = {{"mousse", 0.5 * 2 * 4, 0.5, 0.5}, /* embedding and head by NorMuon */
               {"soap", 0.5, 0.5 / 4, 0.5},
               {"adamw", 0.5, 0.5, 0.5}};
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
    if (groups_open(&groups, &run, params, NULL, &error) != MOUSSE_OK)
      fail_msg("%s", error.text);
    assert_int_equal(groups_schedule(&groups, 0.5, &error), MOUSSE_OK);
    const double expected[] = {cases[i].embed, cases[i].head, 0.5, cases[i].vector};
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
  if (groups_open(&groups, &run, params, NULL, &error) != MOUSSE_OK) fail_msg("%s", error.text);
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

/* What is orthogonalised is cut where it is tall: every row in one block, none twice. */
static void tall_matrices_are_cut(void **state)
{
  const gpt_config config = {
      .vocab_size = 65, .n_layer = 1, .n_head = 2, .n_embd = 8, .sequence_len = 8};
  static const struct {
    const char *optimizer;
    size_t blocks;
  } cases[] = {{"normuon", 3}, {"lion", 1}};
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    gpt_params *params = NULL;
    train_groups groups;
    train_options run;
    mo_error error = {{0}};
    size_t rows = 0;
    assert_int_equal(options_defaults(&run, NULL), MOUSSE_OK);
    tiny_set(&run, "scalar_opt", cases[i].optimizer);
    tiny_set(&run, "lr_factor", "wte=0.25");
    assert_int_equal(gpt_params_create(&params, &config, true, NULL, &error), MOUSSE_OK);
    if (groups_open(&groups, &run, params, NULL, &error) != MOUSSE_OK)
      fail_msg("%s", error.text);
    const gpt_tensor *embedding = &params->tensors[0];
    const size_t count = row_block_count(groups.optimizer, embedding);
    assert_int_equal(count, cases[i].blocks);
    for (size_t k = 0; k < count; k++) {
      double factor = 0;
      const row_block block = row_block_at(embedding, count, k);
      assert_int_equal(block.first, rows);
      assert_true(block.rows > 0 && (count == 1 || block.rows <= 4 * 8));
      assert_int_equal(mousse_get_param(groups.optimizer, block.name, "lr_factor", &factor),
                       MOUSSE_OK);
      near(factor, 0.25, 0);
      rows += block.rows;
    }
    assert_int_equal(rows, 65);
    assert_in_range(row_blocks_state_bytes(groups.optimizer, embedding), 65 * 8 * 4,
                    65 * 10 * 4);
    groups_close(&groups);
    gpt_params_destroy(params);
  }
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
  tiny_set(&run, "optimizer", "mousse");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    tiny_set(&run, cases[i].key, cases[i].text);
  if (groups_open(&groups, &run, params, NULL, &error) != MOUSSE_OK) fail_msg("%s", error.text);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double value = 0;
    assert_int_equal(mousse_get(groups.optimizer, GPT_MATRIX, cases[i].option, &value),
                     MOUSSE_OK);
    near(value, cases[i].value, 1e-12);
  }
  groups_close(&groups);
  told[0] = '\0';
  tiny_set(&run, "optimizer", "muon");
  assert_int_equal(groups_open(&groups, &run, params, &collector, &error), MOUSSE_OK);
  assert_non_null(strstr(told, "'shampoo_alpha' does not apply to the optimizer muon"));
  assert_null(strstr(told, "'mu'"));
  groups_close(&groups);
  tiny_set(&run, "mu", "7");
  assert_int_equal(groups_open(&groups, &run, params, NULL, &error), MOUSSE_OUT_OF_RANGE);
  assert_non_null(strstr(error.text, "mu = 7"));
  gpt_params_destroy(params);
}

/* What docs/training.md says of 'auto', at the widths and lengths that were measured and beyond. */
static void laws_of_the_recipe(void **state)
{
  (void)state;
  near(momentum_by_length(1), 0.5, 0);
  near(momentum_by_length(120), 0.772, 0);
  near(momentum_by_length(500), 0.888, 0);
  near(momentum_by_length(1000000), 0.95, 0);
  near(lion_beta2_by_length(1), 0.8, 0);
  near(lion_beta2_by_length(512), 0.96, 0);
  near(lion_beta2_by_length(1000000), 0.98, 0);
  near(rate_by_width(64, 512), 0.11, 0);
  near(rate_by_width(16, 512), 0.11, 0); /* no further than was measured */
  near(rate_by_width(256, 1536), 0.056, 0);
  near(rate_by_width(256, 8000), 0.028, 0);
  near(rate_by_width(768, 1000), 0.032, 0);
  near(rate_by_width(4096, 1), 0.02, 0);
}

typedef struct wanted_option {
  int group;
  const char *name;
  double value;
} wanted_option;

static void check_groups_of(const train_options *run, const gpt_config *config,
                            const wanted_option *wanted, size_t count)
{
  gpt_params *params = NULL;
  train_groups groups;
  mo_error error = {{0}};
  assert_int_equal(gpt_params_create(&params, config, true, NULL, &error), MOUSSE_OK);
  if (groups_open(&groups, run, params, NULL, &error) != MOUSSE_OK) fail_msg("%s", error.text);
  for (size_t i = 0; i < count; i++) {
    double value = 0;
    assert_int_equal(mousse_get(groups.optimizer, wanted[i].group, wanted[i].name, &value),
                     MOUSSE_OK);
    near(value, wanted[i].value, 1e-12);
  }
  groups_close(&groups);
  gpt_params_destroy(params);
}

static void check_groups(const train_options *run, size_t width, const wanted_option *wanted,
                         size_t count)
{
  const gpt_config config = {
      .vocab_size = 32, .n_layer = 1, .n_head = 2, .n_embd = width, .sequence_len = 8};
  check_groups_of(run, &config, wanted, count);
}

/* All options of any two optimizers have room. */
static void any_two_optimizers_are_resolved(void **state)
{
  const gpt_config config = {
      .vocab_size = 32, .n_layer = 1, .n_head = 2, .n_embd = 8, .sequence_len = 8};
  const char *first = NULL, *second = NULL;
  (void)state;
  for (size_t i = 0; (first = mousse_algorithm_name(i)) != NULL; i++)
    for (size_t j = 0; (second = mousse_algorithm_name(j)) != NULL; j++) {
      train_options run;
      mo_error error = {{0}};
      assert_int_equal(options_defaults(&run, NULL), MOUSSE_OK);
      tiny_set(&run, "optimizer", first);
      tiny_set(&run, "scalar_opt", second);
      if (options_resolve(&run, &config, &error) != MOUSSE_OK)
        fail_msg("%s and %s: %s", first, second, error.text);
    }
}

/* By the recipe, unless the user says otherwise; not for weights from elsewhere; not by the paper's. */
static void recipes_set_what_they_say(void **state)
{
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    train_options run;
    assert_int_equal(options_defaults(&run, NULL), MOUSSE_OK);
    assert_string_equal(run.optimizer, "muon"); /* ahead per second: docs/evidence.md */
    if (i > 0) tiny_set(&run, "optimizer", "mousse");
    tiny_set(&run, "num_iterations", "512");
    check_groups(&run, 16,
                 (wanted_option[]){{GPT_MATRIX, "lr", 0.11},
                                   {GPT_MATRIX, "mu", 0.89},
                                   {GPT_MATRIX, "nesterov", 1},
                                   {GPT_EMBED, "lr", 0.11 * 2 * 4},
                                   {GPT_HEAD, "lr", 0.11},
                                   {GPT_EMBED, "mu", 0.89}},
                 6);
    train_options own = run;
    tiny_set(&own, "scalar_opt", "lion");
    check_groups(&own, 16,
                 (wanted_option[]){{GPT_EMBED, "lr", 0.11},
                                   {GPT_EMBED, "beta2", 0.96},
                                   {GPT_HEAD, "beta2", 0.96}},
                 3);
    tiny_set(&own, "lr", "0.5");
    tiny_set(&own, "opt.mu", "0.25");
    tiny_set(&own, "scalar.beta2", "0.75");
    check_groups(&own, 16,
                 (wanted_option[]){{GPT_MATRIX, "lr", 0.5},
                                   {GPT_MATRIX, "mu", 0.25},
                                   {GPT_EMBED, "lr", 0.5},
                                   {GPT_HEAD, "beta2", 0.75}},
                 4);
    check_groups(&run, 256,
                 (wanted_option[]){{GPT_MATRIX, "lr", 0.056}, {GPT_MATRIX, "mu", 0.89}}, 2);
    train_options tuned = run;
    tiny_set(&tuned, "init", "elsewhere");
    check_groups(&tuned, 16, (wanted_option[]){{GPT_MATRIX, "lr", 0.02}}, 1);
    tiny_set(&run, "recipe", "paper");
    check_groups(&run, 16,
                 (wanted_option[]){{GPT_MATRIX, "lr", 0.02},
                                   {GPT_MATRIX, "mu", 0.95},
                                   {GPT_EMBED, "beta2", 0.98}},
                 3);
    tiny_set(&run, "lr", "auto"); /* by name, in whatever recipe */
    tiny_set(&run, "scalar.beta2", "auto");
    check_groups(&run, 16,
                 (wanted_option[]){{GPT_MATRIX, "lr", 0.11}, {GPT_HEAD, "beta2", 0.96}}, 2);
  }
}

/* Their Lion is recorded nowhere: with more steps, a resumed run would have another. */
static void vectors_beside_rows_follow_no_law(void **state)
{
  train_options run;
  gpt_config config;
  (void)state;
  assert_int_equal(gpt_preset("gpt2", &config, NULL), MOUSSE_OK);
  config.vocab_size = 32;
  config.n_layer = 1;
  config.n_head = 2;
  config.n_embd = 16;
  config.sequence_len = 8;
  assert_int_equal(options_defaults(&run, NULL), MOUSSE_OK);
  tiny_set(&run, "preset", "gpt2");
  tiny_set(&run, "num_iterations", "512");
  tiny_set(&run, "scalar_opt", "lion");
  check_groups_of(&run, &config, (wanted_option[]){{GPT_VECTOR, "beta2", 0.96}}, 1);
  tiny_set(&run, "scalar_opt", "normuon");
  check_groups_of(&run, &config, (wanted_option[]){{GPT_VECTOR, "beta2", 0.98}}, 1);
}

/* A law was measured for some optimizers; of others 'auto' is no number. */
static void there_is_no_law_for_others(void **state)
{
  const gpt_config config = {
      .vocab_size = 32, .n_layer = 1, .n_head = 2, .n_embd = 16, .sequence_len = 8};
  gpt_params *params = NULL;
  train_groups groups;
  train_options run;
  mo_error error = {{0}};
  (void)state;
  assert_int_equal(gpt_params_create(&params, &config, true, NULL, &error), MOUSSE_OK);
  assert_int_equal(options_defaults(&run, NULL), MOUSSE_OK);
  tiny_set(&run, "optimizer", "adamw");
  tiny_set(&run, "lr", "auto");
  assert_int_not_equal(groups_open(&groups, &run, params, NULL, &error), MOUSSE_OK);
  assert_non_null(strstr(error.text, "lr = 'auto' is not a number"));
  gpt_params_destroy(params);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(options),
      cmocka_unit_test(micro_batches_divide),
      cmocka_unit_test(model_of_a_run),
      cmocka_unit_test(model_of_given_weights),
      scratch_test(yaml_reads_what_it_writes),
      scratch_test(yaml_mistakes),
      cmocka_unit_test(yaml_is_bounded),
      cmocka_unit_test(groups_by_role),
      cmocka_unit_test(laws_of_the_recipe),
      cmocka_unit_test(any_two_optimizers_are_resolved),
      cmocka_unit_test(recipes_set_what_they_say),
      cmocka_unit_test(vectors_beside_rows_follow_no_law),
      cmocka_unit_test(there_is_no_law_for_others),
      cmocka_unit_test(scalar_options_count),
      cmocka_unit_test(tall_matrices_are_cut),
      cmocka_unit_test(paper_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
