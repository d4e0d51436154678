/* cmd_bench.c - mousse bench: what this machine does with models and optimizers, as ratios. */
#include "base/parallel.h"
#include "base/wording.h"
#include "bench/bench.h"
#include "cli/bench_cores_display.h"
#include "cli/bench_profile_text.h"
#include "cli/next_step.h"
#include "cli/progress.h"
#include "cli/table.h"

#include <jansson.h>
#include <stdio.h>

typedef struct bench_values {
  bool quick, json, profile;
  int64_t threads, layers;
  int64_t batch;
  char cores[256], preset[64];
  double bandwidth;
  char optimizers[MO_SETTING_PATH];
} bench_values;

static const mo_setting rows[] = {
    MO_SETTING_SWITCH(bench_values, quick, "false",
                      "a minute or two: common optimizers, fewer matrices, one repetition"),
    MO_SETTING_SWITCH(
        bench_values, profile, "false",
        "show instead where the time of forward and backward goes, by kind of work"),
    MO_SETTING_SWITCH(bench_values, json, "false", "print one JSON object"),
    MO_SETTING_INTEGER(bench_values, threads, "0", 0, 1024, "threads; 0: one per core"),
    MO_SETTING_INTEGER(bench_values, layers, "0", 0, 12,
                       "layers of the 162M model to measure (0: 2, or 1 with --quick); with "
                       "--cores, layers of the model (0: all)"),
    MO_SETTING_TEXT(bench_values, cores, "",
                    "predict a step on machines with this many cores, such as 8,32,128, and "
                    "measure nothing else"),
    MO_SETTING_TEXT(bench_values, preset, "",
                    "with --cores: the model; empty: 162M, or tiny when quick"),
    MO_SETTING_INTEGER(bench_values, batch, "64k", 1, 1e12, "with --cores: tokens per step"),
    MO_SETTING_NUMBER(
        bench_values, bandwidth, "0", 0, 1e6,
        "with --cores: memory bandwidth of those machines in GB/s; 0: 4 per core"),
    MO_SETTING_TEXT(bench_values, optimizers, "",
                    "measure these alone, without models and threads: "
                    "name,name:option=value,..."),
};

static void show(void *user, const char *what, double done, double total)
{
  cli_progress *bar = user;
  bar->label = what;
  bar->total = total;
  progress_update(bar, done);
}

static mousse_status print_models(const bench_report *r, mo_error *error)
{
  static const table_column columns[] = {
      {.title = "model", .is_text = true}, {.title = "tokens/s"}, {.title = "of sgemm"}};
  cli_table table = {.columns = columns, .column_count = 3};
  printf("sgemm 3072^3, %s: %.0f GFLOP/s in this run\n\n", MO_COUNT(r->threads, "thread"),
         r->sgemm_gflops);
  for (size_t i = 0; i < BENCH_MODELS; i++) {
    table_cell(&table, "%s", r->models[i].name);
    table_cell(&table, "%s", TABLE_NUMBER(r->models[i].tokens_per_s));
    table_cell(&table, "%.1f%%", 100 * r->models[i].utilisation);
  }
  return table_print(&table, error);
}

static mousse_status print_optimizers(const bench_report *r, mo_error *error)
{
  static const table_column columns[] = {{.title = "optimizer", .is_text = true},
                                         {.title = "sides", .is_text = true},
                                         {.title = "to Muon"},
                                         {.title = "no refresh"},
                                         {.title = "worst to mean", .spare = 1},
                                         {.title = "state"}};
  cli_table table = {.columns = columns, .column_count = 6};
  printf("Time of a step over the 162M model's hidden matrices,\n"
         "relative to plain Muon (15 products per matrix);\n"
         "measured on %zu of its 12 layers.\n\n",
         r->layers);
  for (size_t i = 0; i < r->optimizer_count; i++) {
    const bench_optimizer_result *o = &r->optimizers[i];
    table_cell(&table, "%s%s%s", o->name, o->options[0] != '\0' ? ":" : "", o->options);
    table_cell(&table, "%s", o->sides);
    table_cell(&table, "%.3f", o->ratio);
    table_cell(&table, "%.3f", o->ratio_between);
    table_cell(&table, "%.2f", o->worst_step_to_mean);
    table_cell(&table, "%s", MO_BYTES(o->state_bytes));
  }
  return table_print(&table, error);
}

static mousse_status print_steps(const bench_report *r, mo_error *error)
{
  static const table_column whole[] = {{.title = "tokens per step"},
                                       {.title = "mousse to muon"}},
                            scaling[] = {{.title = "threads"}, {.title = "speedup"}};
  cli_table steps = {.columns = whole, .column_count = 2};
  cli_table threads = {.columns = scaling, .column_count = 2};
  printf("\nA whole step of the 162M model with mousse, relative to\n"
         "one with muon (computed from the tokens/s and the\n"
         "optimizer times above)\n\n");
  for (size_t i = 0; i < BENCH_TOKEN_COUNTS; i++) {
    table_cell(&steps, "%s", MO_NUMBER(r->whole_step[i].tokens));
    table_cell(&steps, "%.3f", r->whole_step[i].mousse_to_muon);
  }
  MO_TRY(table_print(&steps, error));
  printf("\nA training step (model and mousse) on several threads\n\n");
  for (size_t i = 0; i < r->scaling_count; i++) {
    table_cell(&threads, "%d", r->scaling[i].threads);
    table_cell(&threads, "%.2f", r->scaling[i].speedup);
  }
  return table_print(&threads, error);
}

static json_t *models_json(const bench_report *r)
{
  json_t *list = json_array();
  for (size_t i = 0; i < BENCH_MODELS; i++)
    json_array_append_new(list, json_pack("{s:s, s:f, s:f}", "name", r->models[i].name,
                                          "tokens_per_s", r->models[i].tokens_per_s,
                                          "utilisation", r->models[i].utilisation));
  return list;
}

static json_t *optimizers_json(const bench_report *r)
{
  json_t *list = json_array();
  for (size_t i = 0; i < r->optimizer_count; i++) {
    const bench_optimizer_result *o = &r->optimizers[i];
    json_t *row = json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:I}", "name", o->name, "sides",
                            o->sides, "options", o->options, "ratio_to_plain_muon", o->ratio,
                            "ratio_without_refresh", o->ratio_between, "worst_step_to_mean",
                            o->worst_step_to_mean, "state_bytes", (json_int_t)o->state_bytes);
    json_array_append_new(list, row);
  }
  return list;
}

static json_t *steps_json(const bench_report *r)
{
  json_t *list = json_array();
  for (size_t i = 0; i < BENCH_TOKEN_COUNTS; i++)
    json_array_append_new(list,
                          json_pack("{s:I, s:f}", "tokens", (json_int_t)r->whole_step[i].tokens,
                                    "mousse_to_muon", r->whole_step[i].mousse_to_muon));
  return list;
}

static json_t *threads_json(const bench_report *r)
{
  json_t *list = json_array();
  for (size_t i = 0; i < r->scaling_count; i++)
    json_array_append_new(list, json_pack("{s:i, s:f}", "threads", r->scaling[i].threads,
                                          "speedup", r->scaling[i].speedup));
  return list;
}

static void print_json(const bench_report *r)
{
  json_t *root = json_pack("{s:o}", "optimizers", optimizers_json(r));
  if (r->model_count > 0)
    json_object_update_new(root,
                           json_pack("{s:f, s:o, s:o, s:o}", "sgemm_gflops", r->sgemm_gflops,
                                     "models", models_json(r), "whole_step", steps_json(r),
                                     "threads", threads_json(r)));
  json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
  printf("\n");
  json_decref(root);
}

static mousse_status predict_cores(const cli_invocation *call, const bench_values *v,
                                   mo_error *error)
{
  cores_report report;
  cli_progress bar = progress_start("bench", "part", 1, 0, call->quiet);
  cores_options options = {.preset = v->preset[0] != '\0' ? v->preset
                                     : v->quick           ? "tiny"
                                                          : "162M",
                           .threads = v->threads > 0 ? (int)v->threads : mo_threads_available(),
                           .tokens = (size_t)v->batch,
                           .layers = (size_t)v->layers,
                           .bandwidth = 1e9 * v->bandwidth,
                           .progress = show,
                           .user = &bar};
  MO_TRY(cores_parse(v->cores, &options, error));
  MO_TRY(progress_check(&bar, bench_cores(&options, &report, error)));
  bar.label = "bench";
  progress_end(&bar, bar.total);
  if (!v->json) return cores_print(&report, error);
  cores_print_json(&report);
  return MOUSSE_OK;
}

static mousse_status run_profiles(const bench_values *v, const bench_options *options,
                                  cli_progress *bar, mo_error *error)
{
  bench_profiles profiles;
  MO_TRY(progress_check(bar, bench_profiles_run(options, &profiles, error)));
  bar->label = "bench";
  progress_end(bar, bar->total);
  if (!v->json) return bench_profiles_print(&profiles, error);
  bench_profiles_print_json(&profiles);
  return MOUSSE_OK;
}

/* Refuses what would have no effect. */
static mousse_status check_options(const bench_values *v, mo_error *error)
{
  static const mo_settings table = MO_SETTINGS(rows);
  const bool cores = v->cores[0] != '\0', some = v->optimizers[0] != '\0';
  bench_values usual = {0};
  MO_TRY(mo_settings_defaults(&table, &usual, error));
  if (cores + v->profile + some > 1)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "give only one of --cores, --profile and --optimizers: each measures "
                   "something of its own");
  const char *alone = v->preset[0] != '\0'      ? "preset"
                      : v->batch != usual.batch ? "batch"
                      : v->bandwidth > 0        ? "bandwidth"
                                                : NULL;
  if (!cores && alone != NULL)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "--%s applies only with --cores", alone);
  if (v->profile && v->layers > 0)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "--layers does not apply with --profile, which runs whole models");
  return MOUSSE_OK;
}

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  const bench_values *v = call->values;
  MO_TRY(check_options(v, error));
  if (v->cores[0] != '\0') return predict_cores(call, v, error);
  bench_report report;
  char speed[32];
  cli_progress bar = progress_start("bench", v->profile ? "model" : "GFLOP", 1, 0, call->quiet);
  const bench_options options = {
      .quick = v->quick,
      .threads = v->threads > 0 ? (int)v->threads : mo_threads_available(),
      .layers = (size_t)v->layers,
      .optimizers = v->optimizers[0] != '\0' ? v->optimizers : NULL,
      .progress = show,
      .user = &bar,
  };
  if (v->profile) return run_profiles(v, &options, &bar, error);
  MO_TRY(progress_check(&bar, bench_run(&options, &report, error)));
  bar.label = "bench";
  progress_end(&bar, bar.total);
  if (v->json) {
    print_json(&report);
    return MOUSSE_OK;
  }
  if (report.model_count == 0) return print_optimizers(&report, error);
  MO_TRY(print_models(&report, error));
  printf("\n");
  MO_TRY(print_optimizers(&report, error));
  MO_TRY(print_steps(&report, error));
  snprintf(speed, sizeof speed, "%.0f", report.sgemm_gflops);
  next_step(call, "plan --model 162M --ranks 4 --batch 64k --gflops %s", speed);
  return MOUSSE_OK;
}

const cli_command command_bench = {
    .name = "bench",
    .summary = "Measure models and optimizers on this machine",
    .arguments = "",
    .details =
        "Rates hold for this run on this machine: compare ratios, not times, and run nothing "
        "else meanwhile.\n\n"
        "'to Muon' is the time of a step relative to plain Muon, with a refresh of the "
        "preconditioners spread over 10 steps, 'no refresh' that of a step without one. "
        "'worst to mean' is the slowest of 10 steps with staggered refreshes relative to "
        "their mean (with --quick, on matrices of width 192).\n\n"
        "In --optimizers, a name alone stands for all rows of that optimizer (both sides, and "
        "the small one where it has a choice); a name with options, as in a row's name, stands "
        "for one row.\n\n"
        "--profile shows, for each kind of work, its share of the threads' time and how close "
        "it comes to what limits it: the rate of a large product, or that of memory, which "
        "work in caches may exceed. 'waiting' is time when a thread had nothing to do.\n\n"
        "With --cores, a training step is recorded on one thread, item by item with times, and "
        "replayed on each number of cores, with the rules by which threads take work and with "
        "memory bandwidth as a second resource (docs/many-cores.md). The last table compares "
        "the prediction with this machine.\n\n"
        "  mousse bench --quick\n"
        "  mousse bench --profile --quick\n"
        "  mousse bench --json > bench.json\n"
        "  mousse bench --optimizers muon,soapmuon:sides=small\n"
        "  mousse bench --cores 8,32,128\n",
    .settings = MO_SETTINGS(rows),
    .values_bytes = sizeof(bench_values),
    .run = run,
};
