/* cmd_bench.c - mousse bench: what this machine does with models and optimizers, as ratios. */
#include "base/parallel.h"
#include "bench/bench.h"
#include "cli/command.h"
#include "cli/progress.h"

#include <jansson.h>
#include <stdio.h>

typedef struct values {
  bool quick, json;
  int64_t threads, layers;
} values;

static const mo_setting rows[] = {
    MO_SETTING_SWITCH(values, quick, "false",
                      "a minute or two: common optimizers, fewer matrices, one repetition"),
    MO_SETTING_SWITCH(values, json, "false", "print one JSON object"),
    MO_SETTING_INTEGER(values, threads, "0", 0, 1024, "threads; 0: one per core"),
    MO_SETTING_INTEGER(values, layers, "0", 0, 12,
                       "layers of the 162M model whose matrices are measured; 0: 2, or 1 when "
                       "quick"),
};

static void show(void *user, const char *what, double done, double total)
{
  cli_progress *bar = user;
  bar->label = what;
  bar->total = total;
  progress_update(bar, done);
}

static void print_models(const bench_report *r)
{
  printf("sgemm 3072^3, %d %s: %.0f GFLOP/s in this run\n\n", r->threads,
         r->threads == 1 ? "thread" : "threads", r->sgemm_gflops);
  printf("%-10s %12s %12s\n", "model", "tokens/s", "of sgemm");
  for (size_t i = 0; i < BENCH_MODELS; i++)
    printf("%-10s %12.1f %11.1f%%\n", r->models[i].name, r->models[i].tokens_per_s,
           100 * r->models[i].utilisation);
}

static void print_optimizers(const bench_report *r)
{
  printf("\nTime of a step over the 162M model's hidden matrices, relative to plain Muon\n"
         "(15 products per matrix); measured on %zu of its 12 layers.\n\n",
         r->layers);
  printf("%-10s %-6s %10s %12s %14s %12s\n", "optimizer", "sides", "to Muon", "no refresh",
         "worst to mean", "state");
  for (size_t i = 0; i < r->optimizer_count; i++) {
    const bench_optimizer_result *o = &r->optimizers[i];
    printf("%-10s %-6s %10.3f %12.3f %14.2f %9.0f MB\n", o->name, o->sides, o->ratio,
           o->ratio_between, o->worst_step_to_mean, (double)o->state_bytes / 1e6);
  }
}

static void print_steps(const bench_report *r)
{
  printf("\nA whole step of the 162M model with mousse, relative to one with muon (computed\n"
         "from the tokens/s and the optimizer times above)\n\n%-16s",
         "tokens per step");
  for (size_t i = 0; i < BENCH_TOKEN_COUNTS; i++) printf(" %10.0f", r->whole_step[i].tokens);
  printf("\n%-16s", "mousse to muon");
  for (size_t i = 0; i < BENCH_TOKEN_COUNTS; i++)
    printf(" %10.3f", r->whole_step[i].mousse_to_muon);
  printf("\n\nA training step (model and mousse) on several threads\n\n%-16s", "threads");
  for (size_t i = 0; i < r->scaling_count; i++) printf(" %10d", r->scaling[i].threads);
  printf("\n%-16s", "speedup");
  for (size_t i = 0; i < r->scaling_count; i++) printf(" %10.2f", r->scaling[i].speedup);
  printf("\n");
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
    json_array_append_new(list, json_pack("{s:s, s:s, s:f, s:f, s:I}", "name", o->name, "sides",
                                          o->sides, "ratio_to_plain_muon", o->ratio,
                                          "worst_step_to_mean", o->worst_step_to_mean,
                                          "state_bytes", (json_int_t)o->state_bytes));
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
  json_t *root = json_pack("{s:f, s:o, s:o, s:o, s:o}", "sgemm_gflops", r->sgemm_gflops,
                           "models", models_json(r), "optimizers", optimizers_json(r),
                           "whole_step", steps_json(r), "threads", threads_json(r));
  json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
  printf("\n");
  json_decref(root);
}

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  const values *v = call->values;
  bench_report report;
  cli_progress bar = progress_start("bench", "GFLOP", 1, 0, call->quiet);
  const bench_options options = {
      .quick = v->quick,
      .threads = v->threads > 0 ? (int)v->threads : mo_threads_available(),
      .layers = (size_t)v->layers,
      .progress = show,
      .user = &bar,
  };
  MO_TRY(bench_run(&options, &report, error));
  bar.label = "bench";
  progress_end(&bar, bar.total);
  if (v->json) {
    print_json(&report);
    return MOUSSE_OK;
  }
  print_models(&report);
  print_optimizers(&report);
  print_steps(&report);
  return MOUSSE_OK;
}

const cli_command command_bench = {
    .name = "bench",
    .summary = "Measure models and optimizers on this machine",
    .arguments = "",
    .details = "Rates are of this run and this machine; compare ratios, not times. Let nothing "
               "else run.\n"
               "to Muon: time of a step relative to plain Muon, a refresh of preconditioners "
               "spread over 10\n"
               "steps; no refresh: of a step without one; worst to mean: the largest of 10 "
               "steps with\n"
               "staggered refreshes relative to their mean (when quick, on matrices of width "
               "192).\n\n"
               "  mousse bench --quick\n"
               "  mousse bench --json > bench.json\n",
    .settings = MO_SETTINGS(rows),
    .values_bytes = sizeof(values),
    .run = run,
};
