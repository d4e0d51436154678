/* test_sweep.c - combinations of options, and when a run counts as diverged. */
#include "scratch.h"
#include "study/loss_watch.h"
#include "study/sweep.h"

#include <math.h>
#include <string.h>

static void set(sweep_axes *axes, const char *key, const char *values)
{
  mo_error error = {{0}};
  assert_int_equal(sweep_set(axes, key, values, &error), MOUSSE_OK);
}

static study_runs planned(const sweep_axes *axes, size_t draws)
{
  study_runs runs = {.directory = "somewhere"};
  mo_error error = {{0}};
  assert_int_equal(sweep_plan(axes, draws, 7, &runs, &error), MOUSSE_OK);
  return runs;
}

static void test_grid_is_every_combination_in_order(void **state)
{
  (void)state;
  sweep_axes axes = {.count = 0};
  set(&axes, "lr", "0.1, 0.2");
  set(&axes, "data-dir", "a,b"); /* a path: the comma is part of it */
  set(&axes, "seed", "1,2,3");
  study_runs runs = planned(&axes, 0);
  assert_int_equal(runs.count, 6);
  assert_string_equal(runs.runs[0].name, "lr=0.1,seed=1");
  assert_string_equal(runs.runs[1].name, "lr=0.1,seed=2");
  assert_string_equal(runs.runs[5].name, "lr=0.2,seed=3");
  assert_string_equal(runs.runs[5].run.lr, "0.2");
  assert_string_equal(runs.runs[5].run.data_dir, "a,b");
  assert_string_equal(runs.runs[5].directory, "somewhere/lr=0.2,seed=3");
  assert_int_equal(runs.runs[5].run.seed, 3);
  study_release(&runs);
}

/* A run is the same however its options came about: in another order, or over a longer value. */
static void test_the_same_options_are_the_same_run(void **state)
{
  (void)state;
  train_options one, other;
  study_runs runs = {.directory = "somewhere"};
  mo_error error = {{0}};
  assert_int_equal(options_defaults(&one, &error), MOUSSE_OK);
  other = one;
  assert_int_equal(options_set(&one, "opt.mu", "0.9375", NULL, &error), MOUSSE_OK);
  assert_int_equal(options_set(&one, "opt.mu", "0.9", NULL, &error), MOUSSE_OK);
  assert_int_equal(options_set(&one, "scalar.beta2", "0.98", NULL, &error), MOUSSE_OK);
  assert_int_equal(options_set(&other, "scalar.beta2", "0.98", NULL, &error), MOUSSE_OK);
  assert_int_equal(options_set(&other, "opt.mu", "0.9", NULL, &error), MOUSSE_OK);
  assert_memory_equal(&one.options[0], &other.options[1], sizeof one.options[0]);
  assert_int_equal(study_add(&runs, "run", &one, NULL, &error), MOUSSE_OK);
  assert_int_equal(study_add(&runs, "run", &other, NULL, &error), MOUSSE_OK);
  assert_int_equal(runs.count, 1);
  assert_int_equal(options_set(&other, "opt.mu", "0.8", NULL, &error), MOUSSE_OK);
  assert_int_equal(study_add(&runs, "run", &other, NULL, &error), MOUSSE_INVALID_ARGUMENT);
  study_release(&runs);
}

static void test_draws_stay_in_their_ranges(void **state)
{
  (void)state;
  sweep_axes axes = {.count = 0};
  size_t low_half = 0;
  set(&axes, "data_dir", "d");
  set(&axes, "lr", "log 0.001 0.1");
  set(&axes, "clip", "uniform 1 2");
  study_runs runs = planned(&axes, 100);
  for (size_t i = 0; i < runs.count; i++) {
    const double lr = strtod(runs.runs[i].run.lr, NULL), clip = runs.runs[i].run.clip;
    assert_true(lr >= 0.000999 && lr <= 0.1001);
    assert_true(clip >= 1 && clip <= 2);
    low_half += lr < 0.01;
  }
  /* Evenly in the logarithm: half of them below the middle; 5 deviations are 0.25. */
  assert_true(fabs((double)low_half / (double)runs.count - 0.5) < 0.25);
  study_release(&runs);
}

static void test_ranges_that_are_none_are_refused(void **state)
{
  (void)state;
  static const char *const bad[] = {"log 0 1", "log 2 1", "uniform 3 3"};
  for (size_t i = 0; i < 3; i++) {
    sweep_axes axes = {.count = 0};
    study_runs runs = {.directory = "somewhere"};
    mo_error error = {{0}};
    set(&axes, "data_dir", "d");
    set(&axes, "lr", bad[i]);
    assert_int_equal(sweep_plan(&axes, 3, 1, &runs, &error), MOUSSE_OUT_OF_RANGE);
    assert_non_null(strstr(error.text, bad[i]));
    study_release(&runs);
  }
}

static mousse_status plan_status(const sweep_axes *axes, mo_error *error)
{
  study_runs runs = {.directory = "somewhere"};
  const mousse_status status = sweep_plan(axes, 0, 1, &runs, error);
  study_release(&runs);
  return status;
}

static void test_a_range_asks_for_a_draw(void **state)
{
  (void)state;
  sweep_axes axes = {.count = 0};
  mo_error error = {{0}};
  set(&axes, "data_dir", "d");
  set(&axes, "lr", "log 0.001 0.1");
  assert_int_equal(plan_status(&axes, &error), MOUSSE_INVALID_ARGUMENT);
  assert_non_null(strstr(error.text, "--random N"));
}

static void test_a_comma_too_many_is_refused(void **state)
{
  (void)state;
  static const char *const bad[] = {"0.1,", ",0.1", "0.1,,0.2", "0.1, ,0.2"};
  sweep_axes axes = {.count = 0};
  mo_error error = {{0}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(sweep_set(&axes, "lr", bad[i], &error), MOUSSE_INVALID_ARGUMENT);
    assert_non_null(strstr(error.text, "'lr': a value is missing"));
    assert_int_equal(sweep_set(&axes, "opt.alpha", bad[i], &error), MOUSSE_INVALID_ARGUMENT);
  }
  set(&axes, "lr", "");         /* as in a file */
  set(&axes, "freeze", ",wte"); /* with and without */
  assert_int_equal(axes.axes[1].count, 2);
}

/* Also of values that begin alike for long. */
static void test_what_differs_is_told(void **state)
{
  (void)state;
  static const char folder[] =
      "/somewhere/with/a/long/path/that/many/runs/have/and/that/says/nothing/";
  train_options one, other;
  study_runs runs = {.directory = "somewhere"};
  mo_error error = {{0}};
  char path[128];
  assert_int_equal(options_defaults(&one, &error), MOUSSE_OK);
  other = one;
  snprintf(path, sizeof path, "%ssch\xc3\xb6n", folder);
  assert_int_equal(options_set(&one, "data_dir", path, NULL, &error), MOUSSE_OK);
  snprintf(path, sizeof path, "%ssch\xc3\xbcn", folder);
  assert_int_equal(options_set(&other, "data_dir", path, NULL, &error), MOUSSE_OK);
  assert_int_equal(study_add(&runs, "run", &one, NULL, &error), MOUSSE_OK);
  assert_int_equal(study_add(&runs, "run", &other, NULL, &error), MOUSSE_INVALID_ARGUMENT);
  assert_non_null(strstr(
      error.text,
      "data_dir: ...at/says/nothing/sch\xc3\xbcn, not ...at/says/nothing/sch\xc3\xb6n;"));
  other = one;
  other.batch_size = 3;
  assert_int_equal(study_add(&runs, "run", &other, NULL, &error), MOUSSE_INVALID_ARGUMENT);
  assert_non_null(strstr(error.text, "batch_size: 3, not "));
  study_release(&runs);
}

/* Every value has a name of its own, and none leaves the directory of the sweep. */
static void test_names_tell_values_apart(void **state)
{
  (void)state;
  sweep_axes axes = {.count = 0};
  set(&axes, "data_dir", "d");
  set(&axes, "sample_prompt", "a/b,a_b,a b,a%2Fb,../x");
  study_runs runs = planned(&axes, 0);
  assert_int_equal(runs.count, 5);
  for (size_t i = 0; i < runs.count; i++) {
    assert_null(strchr(runs.runs[i].name, '/'));
    for (size_t k = 0; k < i; k++)
      assert_string_not_equal(runs.runs[i].name, runs.runs[k].name);
  }
  study_release(&runs);
}

static void test_a_flag_replaces_the_option_of_the_file(void **state)
{
  (void)state;
  sweep_axes axes = {.count = 0};
  set(&axes, "data_dir", "d");
  set(&axes, "batch_size", "1,2,3");
  set(&axes, "batch-size", "4");
  set(&axes, "steps", "5,6");
  set(&axes, "num_iterations", "7");
  set(&axes, "opt.lr", "0.1,0.2");
  set(&axes, "lr", "0.3");
  set(&axes, "opt.mu", "0.9");
  study_runs runs = planned(&axes, 0);
  assert_int_equal(runs.count, 1);
  assert_int_equal(runs.runs[0].run.batch_size, 4);
  assert_int_equal(runs.runs[0].run.num_iterations, 7);
  assert_string_equal(runs.runs[0].run.lr, "0.3");
  assert_int_equal(runs.runs[0].run.option_count, 1);
  study_release(&runs);
}

static void test_an_option_has_one_name_in_a_file(void **state)
{
  (void)state;
  static const char text[] = "learning_rate: [0.1, 0.2]\nlr: 0.3\n";
  sweep_axes axes = {.count = 0};
  mo_error error = {{0}};
  assert_int_equal(sweep_parse(&axes, "f", text, strlen(text), &error), MOUSSE_BAD_FORMAT);
  assert_string_equal(
      error.text,
      "f: line 2: 'lr' is the same option as 'learning_rate', which is given already");
}

/* In a file, what may have commas in it is one value unless it is a list. */
static void test_text_with_commas_is_one_value(void **state)
{
  (void)state;
  static const char text[] = "sample_prompt: ' Once upon a time, there'\nfreeze: 'wte|[x,y]'\n"
                             "data_dir: d\nseed: 1,2\nlr: 0.1, 0.2\n";
  static const char list[] = "sample_prompt: ['a, b', c]\ndata: [d, 'e:1,f:2']\nlr: []\n";
  sweep_axes axes = {.count = 0};
  mo_error error = {{0}};
  assert_int_equal(sweep_parse(&axes, "text", text, strlen(text), &error), MOUSSE_OK);
  study_runs runs = planned(&axes, 0);
  assert_int_equal(runs.count, 4);
  assert_string_equal(runs.runs[3].name, "seed=2,lr=0.2");
  assert_string_equal(runs.runs[3].run.sample_prompt, " Once upon a time, there");
  assert_string_equal(runs.runs[3].run.freeze, "wte|[x,y]");
  study_release(&runs);
  axes.count = 0;
  assert_int_equal(sweep_parse(&axes, "list", list, strlen(list), &error), MOUSSE_OK);
  runs = planned(&axes, 0);
  assert_int_equal(runs.count, 4);
  assert_string_equal(runs.runs[0].run.sample_prompt, "a, b");
  assert_string_equal(runs.runs[3].run.sample_prompt, "c");
  assert_string_equal(runs.runs[3].run.data_dir, "e:1,f:2");
  study_release(&runs);
}

static void test_values_that_are_too_long_are_refused(void **state)
{
  (void)state;
  static sweep_axes axes;
  char text[SWEEP_TEXT + 1], key[SWEEP_TEXT] = "";
  const char *const two[] = {text, text + SWEEP_TEXT / 2};
  mo_error error = {{0}};
  memset(text, 'x', SWEEP_TEXT);
  memset(key, 'k', sizeof key - 1);
  text[SWEEP_TEXT] = '\0';
  assert_int_equal(sweep_set(&axes, "freeze", text + 1, &error), MOUSSE_OK);
  assert_int_equal(sweep_set(&axes, "freeze", text, &error), MOUSSE_OUT_OF_RANGE);
  assert_non_null(strstr(error.text, "'freeze'"));
  assert_int_equal(sweep_set(&axes, key, "1", &error), MOUSSE_OUT_OF_RANGE);
  text[SWEEP_TEXT / 2 - 1] =
      '\0'; /* and again as long: one byte above what there is room for */
  assert_int_equal(sweep_set_each(&axes, "freeze", two, 2, &error), MOUSSE_OUT_OF_RANGE);
  text[SWEEP_TEXT - 1] = '\0';
  assert_int_equal(sweep_set_each(&axes, "freeze", two, 2, &error), MOUSSE_OK);
}

static const loss_rule three_skipped = {.most_skipped = 3};

static void write_losses(void **state, const double *losses, size_t count)
{
  char text[8192];
  size_t used = 0;
  for (size_t i = 0; i < count; i++)
    used += (size_t)snprintf(text + used, sizeof text - used,
                             isfinite(losses[i])
                                 ? "{\"step\": %zu, \"tokens\": 9, \"lr\": 1, "
                                   "\"grad_norm\": 1, \"seconds\": 1, \"loss\": %g}\n"
                                 : "{\"step\": %zu, \"tokens\": 9, \"lr\": 1, "
                                   "\"grad_norm\": null, \"seconds\": 1, \"loss\": null, "
                                   "\"skipped\": true}\n",
                             i + 1, losses[i]);
  scratch_write(state, "metrics.jsonl", text, used);
}

static bool diverges(void **state, const double *losses, size_t count)
{
  loss_watch course;
  write_losses(state, losses, count);
  loss_watch_start(&course);
  return loss_watch_follow(&course, *state, &three_skipped) == LOSS_DIVERGED;
}

static void test_divergence(void **state)
{
  double losses[30];
  for (size_t i = 0; i < 30; i++) losses[i] = 5 - 0.1 * (double)i;
  assert_false(diverges(state, losses, 30));
  for (size_t i = 10; i < 15; i++) losses[i] = 5.9; /* worse, but not by 1 on average */
  assert_false(diverges(state, losses, 30));
  for (size_t i = 10; i < 20; i++) losses[i] = 6.5;
  assert_true(diverges(state, losses, 30)); /* though it recovers later */
  for (size_t i = 10; i < 20; i++) losses[i] = 4;
  losses[20] = losses[21] = NAN;
  assert_false(diverges(state, losses, 30)); /* two steps skipped, three are too many */
  losses[22] = NAN;
  assert_true(diverges(state, losses, 30));
}

static double last_validation(void **state, const char *text)
{
  loss_watch course;
  scratch_write(state, "metrics.jsonl", text, strlen(text));
  loss_watch_start(&course);
  assert_int_equal(loss_watch_follow(&course, *state, &three_skipped), LOSS_FINE);
  return course.val_loss;
}

/* Only at its step, and only above: what is not finite is above everything. */
static void test_a_run_that_is_behind_is_hopeless(void **state)
{
  static const struct {
    const char *loss;
    loss_verdict expected;
  } cases[] = {{"4.5", LOSS_FINE}, {"4.51", LOSS_HOPELESS}, {"null", LOSS_HOPELESS}};
  const loss_rule rule = {.most_skipped = 3, .limit_count = 1, .limits = {{20, 4.5}}};
  for (size_t i = 0; i < 3; i++) {
    char text[160];
    loss_watch course;
    snprintf(text, sizeof text,
             "{\"step\": 10, \"tokens\": 2, \"val_loss\": 9}\n{\"step\": 20, \"tokens\": 2, "
             "\"val_loss\": %s}\n",
             cases[i].loss);
    scratch_write(state, "metrics.jsonl", text, strlen(text));
    loss_watch_start(&course);
    assert_int_equal(loss_watch_follow(&course, *state, &rule), cases[i].expected);
  }
}

/* null stands for a loss that was not finite: it is not 0, which would be the best of all. */
static void test_a_null_validation_is_no_number(void **state)
{
  assert_true(last_validation(state, "{\"step\": 1, \"tokens\": 2, \"val_loss\": 3}\n") == 3);
  assert_true(
      isnan(last_validation(state, "{\"step\": 1, \"tokens\": 2, \"val_loss\": null}\n")));
  assert_true(isnan(last_validation(state, "{\"step\": 1, \"tokens\": 2}\n")));
}

/* One that a full disk cost its last lines has only losses of before; one from an early archive has its
 * last validation and not its last step. */
static void test_a_loss_is_one_at_the_end(void **state)
{
  static const char step[] = ", \"tokens\": 2, \"loss\": 4, \"lr\": 1, \"grad_norm\": 1, "
                             "\"seconds\": 1}\n",
                    loss[] = ", \"tokens\": 2, \"val_loss\": 3}\n";
  static const struct {
    int steps, validated, asked;
    bool told;
  } cases[] = {{4, 4, 4, true}, {4, 2, 4, false}, {2, 2, 4, false}, {3, 4, 4, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[256];
    study_run run = {.state = STUDY_COMPLETE};
    const bool before = cases[i].validated < cases[i].steps;
    run.run.num_iterations = cases[i].asked;
    snprintf(text, sizeof text, "{\"step\": %d%s{\"step\": %d%s",
             before ? cases[i].validated : cases[i].steps, before ? loss : step,
             before ? cases[i].steps : cases[i].validated, before ? step : loss);
    scratch_write(state, "metrics.jsonl", text, strlen(text));
    loss_watch_start(&run.course);
    assert_int_equal(loss_watch_follow(&run.course, *state, &three_skipped), LOSS_FINE);
    assert_true(study_run_loss(&run) == (cases[i].told ? 3 : INFINITY));
    run.run.patience = 1;
    assert_true(study_run_loss(&run) == (before ? INFINITY : 3));
  }
}

/* What is found must not depend on when one looks: here after every byte. */
static void test_divergence_does_not_depend_on_when_it_is_looked_for(void **state)
{
  double losses[14];
  loss_watch course;
  size_t size = 0;
  char *text = NULL;
  mo_error error = {{0}};
  bool diverged = false;
  for (size_t i = 0; i < 14; i++) losses[i] = i < 2 ? 5 : 7;
  write_losses(state, losses, 14);
  const char *path = scratch_path(state, "metrics.jsonl");
  assert_int_equal(mo_file_read(NULL, path, 1 << 20, &text, &size, &error), MOUSSE_OK);
  loss_watch_start(&course);
  for (size_t bytes = 0; bytes <= size && !diverged; bytes++) {
    scratch_write(state, "metrics.jsonl", text, bytes);
    diverged = loss_watch_follow(&course, *state, &three_skipped) == LOSS_DIVERGED;
  }
  assert_true(diverged);
  assert_int_equal(course.step, 10); /* 2 of 5, 8 of 7: the first window is 6.6 */
  mo_release(NULL, text, size + 1);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_grid_is_every_combination_in_order),
      cmocka_unit_test(test_the_same_options_are_the_same_run),
      cmocka_unit_test(test_draws_stay_in_their_ranges),
      cmocka_unit_test(test_ranges_that_are_none_are_refused),
      cmocka_unit_test(test_a_comma_too_many_is_refused),
      cmocka_unit_test(test_a_range_asks_for_a_draw),
      cmocka_unit_test(test_what_differs_is_told),
      cmocka_unit_test(test_names_tell_values_apart),
      cmocka_unit_test(test_a_flag_replaces_the_option_of_the_file),
      cmocka_unit_test(test_an_option_has_one_name_in_a_file),
      cmocka_unit_test(test_text_with_commas_is_one_value),
      cmocka_unit_test(test_values_that_are_too_long_are_refused),
      scratch_test(test_divergence),
      scratch_test(test_a_run_that_is_behind_is_hopeless),
      scratch_test(test_a_null_validation_is_no_number),
      scratch_test(test_a_loss_is_one_at_the_end),
      scratch_test(test_divergence_does_not_depend_on_when_it_is_looked_for),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
