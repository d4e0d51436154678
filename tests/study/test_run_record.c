/* test_run_record.c - what run directories tell: complete, killed, damaged and missing ones. */
#include "base/random.h"
#include "scratch.h"
#include "study/curves.h"
#include "study/run_groups.h"

#include <math.h>
#include <string.h>

#define STEP(step, loss, seconds)                                                              \
  "{\"step\": " #step ", \"tokens\": 100, \"loss\": " #loss                                    \
  ", \"lr\": 0.01, \"grad_norm\": 1, \"seconds\": " #seconds "}\n"
#define VALIDATION(step, loss)                                                                 \
  "{\"step\": " #step ", \"tokens\": 100, \"val_loss\": " #loss "}\n"
#define TELEMETRY "{\"step\": 2, \"matrix\": \"h.0.w\", \"update_rms\": 0.5, \"rank\": null}\n"

static const char whole[] = VALIDATION(0, 8) STEP(1, 7.5, 0.5) STEP(2, null, 0.1)
    TELEMETRY VALIDATION(2, 6) STEP(3, 5, 0.2) STEP(4, 4, 0.3) VALIDATION(4, 3);

/* A run directory; NULL: without this file. */
static const char *make_run(void **state, const char *name, const char *config,
                            const char *metrics, const char *result)
{
  char path[128];
  mo_error error = {{0}};
  const char *const files[][2] = {
      {"config.yaml", config}, {"metrics.jsonl", metrics}, {"result.json", result}};
  assert_int_equal(mo_make_directories(scratch_path(state, name), &error), MOUSSE_OK);
  for (size_t i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s/%s", name, files[i][0]);
    if (files[i][1] != NULL) scratch_write(state, path, files[i][1], strlen(files[i][1]));
  }
  return scratch_path(state, name);
}

static const char config[] = "optimizer: muon\nlr: 0.02\nnum_iterations: 4\nseed: 3\n";

static void reads_a_complete_run(void **state)
{
  run_record r;
  mo_error error = {{0}};
  const char *path =
      make_run(state, "muon-1", config, whole,
               "{\"status\": \"complete\", \"peak_bytes\": 1000, \"wall_seconds\": 2.5, "
               "\"cpu_seconds\": 5}");
  assert_int_equal(run_record_read(&r, path, RECORD_CURVES_AND_TELEMETRY, &error), MOUSSE_OK);
  assert_string_equal(r.name, "muon-1");
  assert_int_equal(r.step_count, 4);
  assert_int_equal(r.validation_count, 3);
  assert_int_equal(r.telemetry_count, 2);
  assert_string_equal(r.telemetry[0].matrix, "h.0.w");
  assert_string_equal(r.telemetry[0].quantity, "update_rms");
  assert_true(r.telemetry[0].value == 0.5 && isnan(r.telemetry[1].value));
  assert_true(isnan(r.steps[1].loss) && r.steps[3].loss == 4);
  assert_true(r.final_loss == 3 && r.complete && r.result.status == RECORD_COMPLETE);
  assert_true(fabs(r.step_seconds - 0.25) < 1e-12);
  assert_true(r.result.peak_bytes == 1000 && r.result.wall_seconds == 2.5 &&
              r.result.cpu_seconds == 5);
  assert_true(run_record_lr(&r) == 0.02);
  run_group group;
  run_group_start(&group);
  assert_int_equal(run_group_add(&group, &r, &error), MOUSSE_OK);
  assert_true(run_group_steps_to(&group, 7) == 1); /* half way from 8 to 6 */
  assert_true(run_group_steps_to(&group, 3) == 4);
  assert_true(isnan(run_group_steps_to(&group, 2.9)));
  assert_false(run_group_blew_up(&group));
  run_group_release(&group);
  run_record_release(&r);
}

/* The first of three seeds was killed early: the others have what it lacks. */
static void a_group_is_as_long_as_its_longest_run(void **state)
{
  enum { ALL = 10, FEW = 2 };
  record_step steps[ALL];
  record_validation validations[3][ALL];
  run_record runs[3];
  run_group group;
  uint64_t step = 0;
  run_mean loss;
  mo_error error = {{0}};
  (void)state;
  run_group_start(&group);
  for (size_t r = 0; r < 3; r++) {
    const size_t count = r == 0 ? FEW : ALL;
    for (size_t i = 0; i < ALL; i++) {
      steps[i] = (record_step){.step = 10 * i + 10, .tokens = 100 * i + 100};
      validations[r][i] = (record_validation){
          .step = 10 * i + 10, .loss = r == 0 ? 100.0 : (double)(ALL - i)}; /* 10, 9, ... 1 */
    }
    runs[r] = (run_record){.steps = steps,
                           .step_count = count,
                           .validations = validations[r],
                           .validation_count = count,
                           .complete = r > 0,
                           .options.seed = (int64_t)r};
    assert_int_equal(run_group_add(&group, &runs[r], &error), MOUSSE_OK);
  }
  assert_true(run_group_validation(&group, 0, &step, &loss));
  assert_true(step == 10 && loss.count == 3);
  assert_true(run_group_validation(&group, ALL - 1, &step, &loss));
  assert_true(step == 100 && loss.count == 2 && loss.mean == 1);
  assert_true(run_group_steps_to(&group, 3) == 80);
  assert_true(run_group_steps_to(&group, 9.5) == 15); /* without the run that did not finish */
  json_t *results = results_new("t", "c");
  json_t *chart = results_chart(results_figure(results, "f", "t", ""), "t",
                                results_axis("step", "linear"), results_axis("y", "linear"));
  curve_views(chart);
  json_t *series = results_series(chart, "s", "line");
  curve_validation(series, &group, 0, CURVE_POINTS);
  const json_t *tokens = json_array_get(json_object_get(series, "views"), 0);
  assert_int_equal(json_array_size(json_object_get(series, "points")), ALL);
  assert_true(json_number_value(json_array_get(tokens, ALL - 1)) == 1000);
  json_decref(results);
  run_group_release(&group);
}

static void a_killed_run_is_incomplete(void **state)
{
  static const char torn[] = STEP(1, 7, 1) VALIDATION(1, 7) STEP(2, 6, 1) "{\"step\": 3, \"tok";
  run_record r;
  mo_error error = {{0}};
  const char *path = make_run(state, "killed", config, torn, NULL);
  assert_int_equal(run_record_read(&r, path, RECORD_CURVES, &error), MOUSSE_OK);
  assert_int_equal(r.step_count, 2);
  assert_false(r.complete);
  assert_true(r.result.status == RECORD_UNKNOWN && isnan(r.result.peak_bytes) &&
              r.final_loss == 7);
  run_record_release(&r);
}

static void a_run_without_steps_is_empty(void **state)
{
  run_record r;
  mo_error error = {{0}};
  const char *path = make_run(state, "new", "optimizer: lion\n", NULL, NULL);
  assert_int_equal(run_record_read(&r, path, RECORD_CURVES, &error), MOUSSE_OK);
  assert_true(r.step_count == 0 && !r.complete && isnan(r.final_loss));
  assert_true(isnan(r.step_seconds) && run_record_lr(&r) > 0); /* the default of lion */
  run_record_release(&r);
}

static void diverged_is_not_complete(void **state)
{
  run_record r;
  mo_error error = {{0}};
  const char *path = make_run(state, "far", config, whole, "{\"status\": \"diverged\"}");
  assert_int_equal(run_record_read(&r, path, RECORD_CURVES, &error), MOUSSE_OK);
  assert_true(r.result.status == RECORD_DIVERGED && !r.complete && r.telemetry_count == 0);
  run_record_release(&r);
}

#define EVENT(kind, text)                                                                      \
  "{\"step\": 4, \"time\": 1, \"event\": \"" kind "\", \"text\": \"" text "\"}\n"

/* Without a result.json: what its steps, its last validation and its events say together. */
static void a_run_is_complete_by_all_it_left(void **state)
{
  static const char unvalidated[] = STEP(3, 5, 1) STEP(4, 4, 1),
                    killed[] = VALIDATION(2, 6) STEP(3, 5, 1) STEP(4, 4, 1),
                    broken[] = "not JSON\n" EVENT("started", "") EVENT("ended", "disk full");
  const struct {
    const char *metrics, *events, *state;
  } cases[] = {
      {whole, NULL, "complete"},
      {whole, EVENT("started", ""), "complete"}, /* "ended" may be lost with the power */
      {whole, EVENT("ended", "complete"), "complete"},
      {whole, broken, "failed"},
      {whole, EVENT("ended", "disk full") EVENT("notice", "x"), "failed"},
      {whole, EVENT("ended", "disk full") EVENT("started", ""), "complete"},
      {unvalidated, NULL, "complete"}, /* data without validation shards */
      {killed, NULL, "not finished"},
      {killed, EVENT("ended", "asked to stop"), "not finished"},
      {killed, EVENT("ended", "complete"), "complete"}, /* went on without validation shards */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    run_record r;
    run_group group;
    mo_error error = {{0}};
    const char *path = make_run(state, "ended", config, cases[i].metrics, NULL);
    const bool complete = strcmp(cases[i].state, "complete") == 0;
    const char *events = cases[i].events != NULL ? cases[i].events : "";
    scratch_write(state, "ended/events.jsonl", events, strlen(events));
    assert_int_equal(run_record_read(&r, path, RECORD_CURVES, &error), MOUSSE_OK);
    assert_string_equal(run_record_state(&r), cases[i].state);
    assert_int_equal(r.complete, complete);
    assert_false(run_record_blew_up(&r)); /* also where there is no final loss */
    run_group_start(&group);
    assert_int_equal(run_group_add(&group, &r, &error), MOUSSE_OK);
    assert_int_equal(group.final_loss.count, complete && cases[i].metrics == whole);
    run_group_release(&group);
    run_record_release(&r);
  }
}

/* A full disk cost it its last lines, or an old archive its last steps. */
static void a_final_loss_is_one_at_the_end(void **state)
{
  static const char result[] = "{\"status\": \"complete\", \"steps\": 4}";
  const struct {
    const char *metrics;
    double loss;
  } cases[] = {{VALIDATION(0, 8) STEP(1, 7, 1) STEP(2, 6, 1), NAN},
               {STEP(1, 7, 1) STEP(2, 6, 1) VALIDATION(2, 6), NAN},
               {STEP(1, 7, 1) VALIDATION(2, 6) STEP(4, 6, 1), NAN},
               {STEP(1, 7, 1) VALIDATION(2, 6) VALIDATION(4, 3), 3}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    run_record r;
    mo_error error = {{0}};
    const char *path = make_run(state, "short", config, cases[i].metrics, result);
    assert_int_equal(run_record_read(&r, path, RECORD_CURVES, &error), MOUSSE_OK);
    assert_true(r.complete);
    assert_true(isnan(cases[i].loss) ? isnan(r.final_loss) : r.final_loss == cases[i].loss);
    run_record_release(&r);
  }
}

/* Larger than what is read at a time, with telemetry that is not asked for in between. */
static void long_files_are_read_in_parts(void **state)
{
  enum { STEPS = 20000 };
  static const char telemetry[] = "{\"step\": %d, \"matrix\": \"h.0.w\", \"rms\": 1}\n",
                    step[] = "{\"step\": %d, \"tokens\": 1, \"loss\": 2, \"lr\": 3, "
                             "\"grad_norm\": 4, \"seconds\": 5}\n";
  run_record r;
  mo_error error = {{0}};
  const char *path = make_run(state, "long", config, "", NULL);
  FILE *file = fopen(scratch_path(state, "long/metrics.jsonl"), "w");
  assert_non_null(file);
  for (int i = 1; i <= STEPS; i++) {
    fprintf(file, step, i);
    fprintf(file, telemetry, i);
  }
  fflush(file);
  assert_int_equal(run_record_read(&r, path, RECORD_CURVES, &error), MOUSSE_OK);
  assert_true(r.step_count == STEPS && r.steps[STEPS - 1].step == STEPS &&
              r.telemetry_count == 0);
  run_record_release(&r);
  assert_int_equal(run_record_read(&r, path, RECORD_CURVES_AND_TELEMETRY, &error), MOUSSE_OK);
  assert_int_equal(r.telemetry_count, STEPS);
  run_record_release(&r);
  fprintf(file, "{\"step\": 20001, \"matrix\": \"h.0\n"); /* torn */
  fclose(file);
  assert_int_equal(run_record_read(&r, path, RECORD_CURVES, &error), MOUSSE_BAD_FORMAT);
  assert_non_null(strstr(error.text, "metrics.jsonl: line 40001: not JSON"));
}

static void damage_is_told_with_file_and_line(void **state)
{
  static const struct {
    const char *metrics, *result, *expected;
  } cases[] = {
      {STEP(1, 7, 1) "garbage\n" STEP(2, 7, 1), NULL, "metrics.jsonl: line 2: not JSON"},
      {STEP(1, 7, 1) "[1]\n" STEP(2, 7, 1), NULL, "metrics.jsonl: line 2: not an object"},
      {"{\"step\": 1, \"loss\": 3}\n", NULL, "metrics.jsonl: line 1: a step needs"},
      {STEP(2, 7, 1) STEP(2, 6, 1), NULL, "metrics.jsonl: line 2: its step is not later"},
      {"{\"step\": -1, \"tokens\": 1, \"val_loss\": 1}\n", NULL, "line 1: a validation needs"},
      {"{\"step\": 1, \"tokens\": 1, \"val_loss\": \"x\"}\n", NULL, "a validation needs"},
      {"{\"step\": 1, \"matrix\": 5}\n", NULL, "the name of a matrix"},
      {"", "{\"status\": \"great\"}", "result.json: status is 'great'"},
      {"", "{\"status\"", "result.json: line 1, column 9: not JSON"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    run_record r;
    mo_error error = {{0}};
    const char *path = make_run(state, "bad", config, cases[i].metrics, cases[i].result);
    assert_int_equal(run_record_read(&r, path, RECORD_CURVES, &error), MOUSSE_BAD_FORMAT);
    assert_non_null(strstr(error.text, cases[i].expected));
  }
}

static void what_is_no_run_is_refused(void **state)
{
  run_record r;
  run_records found = {0};
  mo_error error = {{0}};
  const char *empty = make_run(state, "empty", NULL, NULL, NULL);
  assert_int_equal(run_record_read(&r, empty, RECORD_CURVES, &error), MOUSSE_IO);
  assert_non_null(strstr(error.text, "no config.yaml"));
  assert_int_equal(run_records_find(&found, empty, RECORD_CURVES, &error), MOUSSE_IO);
  assert_non_null(strstr(error.text, "no runs in it"));
  assert_int_equal(run_record_read(&r, scratch_path(state, "none"), RECORD_CURVES, &error),
                   MOUSSE_IO);
  assert_int_equal(run_records_find(&found, scratch_path(state, "none"), RECORD_CURVES, &error),
                   MOUSSE_IO);
  run_records_release(&found);
}

static void finds_runs_below(void **state)
{
  run_records found = {0};
  mo_error error = {{0}};
  make_run(state, "b/run", config, whole, NULL);
  make_run(state, "a/deep/er/run", config, whole, NULL);
  make_run(state, "1/2/3/4/too-deep", config, whole, NULL);
  make_run(state, ".hidden", config, whole, NULL);
  make_run(state, "b/run/inner", config, whole, NULL); /* inside of a run: not looked for */
  assert_int_equal(run_records_find(&found, *state, RECORD_CURVES, &error), MOUSSE_OK);
  assert_int_equal(found.count, 2);
  assert_non_null(strstr(found.list[0].directory, "/a/deep/er/run"));
  assert_non_null(strstr(found.list[1].directory, "/b/run"));
  assert_int_equal(
      run_records_find(&found, scratch_path(state, "b/run/"), RECORD_CURVES, &error),
      MOUSSE_OK);
  assert_int_equal(found.count, 2); /* it is there already */
  const char *empty = make_run(state, "none", NULL, NULL, NULL);
  assert_int_equal(run_records_find(&found, empty, RECORD_CURVES, &error), MOUSSE_IO);
  run_records_release(&found);
}

/* Two seeds of two learning rates, and a setting of its own. */
static void groups_by_all_but_the_seed(void **state)
{
  run_records found = {0};
  run_groups groups;
  mo_error error = {{0}};
  static const char *const configs[] = {
      "optimizer: muon\nlr: 0.1\nseed: 1\nnum_iterations: 4\nout: a\nthreads: 1\n",
      "optimizer: muon\nlr: 0.1\nseed: 2\nnum_iterations: 4\nout: b\nthreads: 2\n",
      "optimizer: muon\nlr: 0.02\nseed: 1\nnum_iterations: 4\n",
      "optimizer: muon\nlr: 0.02\nseed: 1\nnum_iterations: 4\nopt.nesterov: off\n",
      "optimizer: adamw\nnum_iterations: 4\n"};
  for (int i = 0; i < 5; i++) {
    char name[2] = {(char)('a' + i), '\0'};
    make_run(state, name, configs[i], i == 1 ? STEP(4, 1, 1) VALIDATION(4, 5) : whole, NULL);
  }
  assert_int_equal(run_records_find(&found, *state, RECORD_CURVES, &error), MOUSSE_OK);
  assert_int_equal(run_groups_make(&groups, &found, &error), MOUSSE_OK);
  char names[64];
  assert_false(run_records_unlike(&found, names, sizeof names));
  assert_int_equal(groups.count, 4);
  assert_int_equal(groups.variant_count, 3);
  const run_group *two = NULL, *own = NULL, *alone = NULL;
  for (size_t i = 0; i < groups.count; i++) {
    if (groups.list[i].count == 2) two = &groups.list[i];
    if (strcmp(groups.list[i].label, "muon nesterov off") == 0) own = &groups.list[i];
    if (strcmp(groups.list[i].label, "adamw") == 0) alone = &groups.list[i];
  }
  assert_non_null(two);
  assert_non_null(own);
  assert_non_null(alone);
  assert_string_equal(two->label, "muon lr 0.1");
  assert_true(two->final_loss.mean == 4 && fabs(two->final_loss.spread - sqrt(2)) < 1e-12);
  assert_true(groups.list[groups.variants[two->variant].best].lr == 0.02); /* 3 is below 4 */
  run_groups_release(&groups);
  run_records_release(&found);
}

/* A copy of a run is no other seed; one that did not end takes no seed's place. */
static void a_seed_counts_once(void **state)
{
  run_record runs[4] = {{.complete = false}};
  run_group group;
  mo_error error = {{0}};
  (void)state;
  run_group_start(&group);
  for (size_t i = 0; i < 4; i++) {
    runs[i].complete = i > 0;
    runs[i].final_loss = i < 3 ? 3 : 5;
    runs[i].options.seed = i < 3 ? 1 : 2;
    assert_int_equal(run_group_add(&group, &runs[i], &error), MOUSSE_OK);
  }
  assert_true(group.final_loss.count == 2 && group.final_loss.mean == 4);
  assert_true(group.count == 3 && group.repeats == 1 && group.repeat == &runs[2]);
  run_group_release(&group);
}

/* Each is compared with all others at once: in pairs, a page on some hundred runs took minutes. */
static void many_runs_are_grouped(void **state)
{
  enum { RUNS = 1000 };
  run_records found = {0};
  run_groups groups;
  mo_error error = {{0}};
  (void)state;
  assert_true(mo_grow(NULL, &found.list, &found.capacity, RUNS, sizeof *found.list));
  for (int i = 0; i < RUNS; i++) {
    char text[80];
    train_options *options = &found.list[i].options;
    snprintf(text, sizeof text, "optimizer: muon\nlr: 0.02\nseed: %d\nopt.mu: %g\n", i % 2,
             0.1 + (i / 2) / 1000.0);
    found.list[i].final_loss = found.list[i].step_seconds = NAN;
    assert_int_equal(options_defaults(options, &error), MOUSSE_OK);
    assert_int_equal(options_parse(options, "c", text, strlen(text), NULL, &error), MOUSSE_OK);
  }
  found.count = RUNS;
  assert_int_equal(run_groups_make(&groups, &found, &error), MOUSSE_OK);
  assert_int_equal(groups.count, RUNS / 2);
  assert_int_equal(groups.variant_count, RUNS / 2);
  for (size_t i = 0; i < groups.count; i++) {
    char label[RUN_LABEL];
    snprintf(label, sizeof label, "muon mu %g", 0.1 + (double)i / 1000.0);
    assert_string_equal(groups.list[i].label, label);
    assert_int_equal(groups.list[i].count, 2);
  }
  run_groups_release(&groups);
  mo_release(NULL, found.list, found.capacity * sizeof *found.list);
}

/* What tells a run from others: rows, where those before are alike, and options, also by not being
 * set. */
static void labels_say_what_differs(void **state)
{
  static const struct {
    const char *config, *label;
  } runs[] = {{"optimizer: muon\nn_layer: 2\nopt.mu: 0.9\n", "muon n_layer 2 mu 0.9"},
              {"optimizer: muon\nn_layer: 2\n", "muon n_layer 2"},
              {"optimizer: muon\nn_layer: 3\nopt.mu: 0.9\n", "muon n_layer 3"},
              {"optimizer: mousse\nopt.mu: 0.9\nopt.graft: off\nscalar.mu: 1\n",
               "mousse graft off scalar.mu 1"},
              {"optimizer: mousse\nopt.mu: 0.9\nopt.graft: on\nscalar.mu: 2\n",
               "mousse graft on scalar.mu 2"}};
  enum { RUNS = sizeof runs / sizeof *runs };
  run_records found = {0};
  run_groups groups;
  mo_error error = {{0}};
  for (int i = 0; i < RUNS; i++)
    make_run(state, (char[]){(char)('a' + i), '\0'}, runs[i].config, whole, NULL);
  assert_int_equal(run_records_find(&found, *state, RECORD_CURVES, &error), MOUSSE_OK);
  assert_int_equal(run_groups_make(&groups, &found, &error), MOUSSE_OK);
  assert_int_equal(groups.count, RUNS);
  for (size_t i = 0; i < RUNS; i++) {
    size_t at = 0;
    while (at < RUNS && strcmp(groups.list[at].label, runs[i].label) != 0) at++;
    if (at == RUNS) fail_msg("no run is called '%s'", runs[i].label);
  }
  run_groups_release(&groups);
  run_records_release(&found);
}

static void unlike_runs_are_noticed(void **state)
{
  run_records found = {0};
  mo_error error = {{0}};
  make_run(state, "a", config, whole, NULL);
  make_run(state, "b", config, whole, NULL);
  char names[64], few[32];
  make_run(state, "c",
           "optimizer: muon\nn_layer: 5\ndata_dir: other\npreset: nano\nnum_iterations: 9\n",
           whole, NULL);
  assert_int_equal(run_records_find(&found, *state, RECORD_CURVES, &error), MOUSSE_OK);
  assert_true(run_records_unlike(&found, names, sizeof names));
  assert_string_equal(names, "preset, n_layer, data_dir, num_iterations");
  assert_true(run_records_unlike(&found, few, sizeof few));
  assert_string_equal(few, "preset and 3 more");
  run_records_release(&found);
}

/* A complete run whose last validation was not finite has no final loss: it wins nothing. */
static void a_loss_that_is_null_never_wins(void **state)
{
  static const char nothing[] = STEP(3, 5, 0.2) STEP(4, 4, 0.3) VALIDATION(4, null);
  run_records found = {0};
  run_groups groups;
  mo_error error = {{0}};
  make_run(state, "null", "optimizer: muon\nlr: 0.1\nnum_iterations: 4\n", nothing, NULL);
  make_run(state, "three", "optimizer: muon\nlr: 0.2\nnum_iterations: 4\n", whole, NULL);
  make_run(state, "none", "optimizer: muon\nlr: 0.3\nnum_iterations: 4\n", STEP(4, 1, 1), NULL);
  assert_int_equal(run_records_find(&found, *state, RECORD_CURVES, &error), MOUSSE_OK);
  assert_int_equal(run_groups_make(&groups, &found, &error), MOUSSE_OK);
  assert_int_equal(groups.variant_count, 1);
  assert_true(groups.list[groups.variants[0].best].lr == 0.2);
  assert_true(groups.list[0].final_loss.count == 0 && isnan(groups.list[0].final_loss.mean));
  run_groups_release(&groups);
  run_records_release(&found);
}

/* 5% of gaussian means must lie outside of their 95% intervals; of 4,000, 4.0 to 6.0% do. */
static void intervals_hold_their_mean(void **state)
{
  (void)state;
  size_t outside = 0;
  for (uint64_t trial = 0; trial < 4000; trial++) {
    run_mean m = run_mean_of_none();
    for (uint64_t i = 0; i < 5; i++) run_mean_add(&m, mo_random_normal(7, trial, i));
    outside += fabs(m.mean) > run_mean_margin(m);
  }
  assert_true(outside >= 160 && outside <= 240);
  assert_true(isinf(run_mean_margin((run_mean){.mean = 1, .spread = NAN, .count = 1})));
}

/* A ratio whose upper part is known well and whose lower part is not, as nats to nats per step are:
 * 5% of the intervals must miss it; without the lower part's error, a third of them would. */
static void intervals_of_ratios_hold_them(void **state)
{
  (void)state;
  size_t outside = 0, beyond = 0;
  for (uint64_t trial = 0; trial < 4000; trial++) {
    double upper[5], lower[5];
    run_mean over = run_mean_of_none(), under = run_mean_of_none();
    for (uint64_t i = 0; i < 5; i++) {
      const double shared = mo_random_normal(8, trial, 3 * i); /* Muon's own runs are in both */
      upper[i] = 10 + mo_random_normal(8, trial, 3 * i + 1) - 0.3 * shared;
      lower[i] = 5 + mo_random_normal(8, trial, 3 * i + 2) + 0.3 * shared;
      run_mean_add(&over, upper[i]);
      run_mean_add(&under, lower[i]);
    }
    const run_ratio r = run_ratio_of(upper, lower, 5);
    assert_true(r.low < r.value && r.value < r.high);
    outside += r.low > 2 || r.high < 2;
    beyond += fabs(over.mean / under.mean - 2) > run_mean_margin(over) / under.mean;
  }
  assert_true(outside >= 150 && outside <= 250);
  assert_true(beyond > 2 * outside);
  const double small[] = {1, -1, 2, -2.5, 0.25}, one[] = {1};
  assert_true(isinf(run_ratio_of(one, small, 1).low));
  assert_true(isinf(run_ratio_of((double[]){3, 4, 5, 4, 3}, small, 5).low));
  assert_true(isnan(run_ratio_of(small, small, 0).value));
}

static void means_leave_out_what_is_not_finite(void **state)
{
  (void)state;
  run_mean m = run_mean_of_none();
  assert_true(isnan(m.mean) && m.count == 0);
  run_mean_add(&m, NAN);
  run_mean_add(&m, 2);
  assert_true(m.mean == 2 && isnan(m.spread));
  run_mean_add(&m, INFINITY);
  run_mean_add(&m, 4);
  run_mean_add(&m, 9);
  assert_true(m.count == 3 && m.mean == 5 && fabs(m.spread - sqrt(13)) < 1e-12);
}

static int by_number(const void *a, const void *b)
{
  return number_order(*(const double *)a, *(const double *)b);
}

static void what_is_no_number_comes_last(void **state)
{
  (void)state;
  double values[] = {3, NAN, -1, NAN, 2, INFINITY, NAN, 0};
  qsort(values, 8, sizeof *values, by_number);
  assert_true(values[0] == -1 && values[1] == 0 && values[2] == 2 && values[3] == 3);
  assert_true(isinf(values[4]) && isnan(values[5]) && isnan(values[7]));
  assert_int_equal(number_order(NAN, NAN), 0);
}

/* Seeds differ by much more than the two settings, which paired differences do not see. */
static void pairs_are_of_the_same_seed(void **state)
{
  (void)state;
  run_record records[6] = {{.complete = true, .final_loss = 3.0, .options.seed = 1},
                           {.complete = true, .final_loss = 4.0, .options.seed = 2},
                           {.complete = true, .final_loss = 5.0, .options.seed = 3},
                           {.complete = true, .final_loss = 4.9, .options.seed = 3},
                           {.complete = true, .final_loss = 2.9, .options.seed = 1},
                           {.complete = false, .final_loss = 0.0, .options.seed = 2}};
  run_group base, better;
  mo_error error = {{0}};
  run_group_start(&base);
  run_group_start(&better);
  for (size_t i = 0; i < 6; i++)
    assert_int_equal(run_group_add(i < 3 ? &base : &better, &records[i], &error), MOUSSE_OK);
  const run_mean difference = run_group_paired(&better, &base);
  const run_ratio same = run_group_ratio(&better, &base, &better, &base);
  assert_int_equal(difference.count, 2);
  assert_true(fabs(same.value - 1) < 1e-12 && fabs(same.low - 1) < 1e-6);
  assert_true(fabs(difference.mean + 0.1) < 1e-12 && difference.spread < 1e-12);
  run_group_release(&base);
  run_group_release(&better);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      scratch_test(reads_a_complete_run),
      cmocka_unit_test(a_group_is_as_long_as_its_longest_run),
      scratch_test(a_killed_run_is_incomplete),
      scratch_test(a_run_without_steps_is_empty),
      scratch_test(diverged_is_not_complete),
      scratch_test(a_run_is_complete_by_all_it_left),
      scratch_test(a_final_loss_is_one_at_the_end),
      scratch_test(long_files_are_read_in_parts),
      scratch_test(damage_is_told_with_file_and_line),
      scratch_test(what_is_no_run_is_refused),
      scratch_test(finds_runs_below),
      scratch_test(groups_by_all_but_the_seed),
      cmocka_unit_test(a_seed_counts_once),
      cmocka_unit_test(many_runs_are_grouped),
      scratch_test(labels_say_what_differs),
      scratch_test(unlike_runs_are_noticed),
      scratch_test(a_loss_that_is_null_never_wins),
      cmocka_unit_test(intervals_hold_their_mean),
      cmocka_unit_test(intervals_of_ratios_hold_them),
      cmocka_unit_test(means_leave_out_what_is_not_finite),
      cmocka_unit_test(what_is_no_number_comes_last),
      cmocka_unit_test(pairs_are_of_the_same_seed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
