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
               {"encoder=0.5", "no trained tensor's name has 'encoder' in it"}};
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

int main(void)
{
  const struct CMUnitTest tests[] = {
      scratch_test(factors_change_steps),
      scratch_test(factors_are_planned),
      scratch_test(factors_that_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
