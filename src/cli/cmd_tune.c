/* cmd_tune.c - mousse tune: the best settings for somebody's data and model, in a given time. */
#include "study/tune.h"

#include "base/file.h"
#include "cli/next_step.h"
#include "cli/run_options.h"
#include "cli/study_display.h"
#include "report/report.h"
#include "support/run_directory.h"
#include "support/signals.h"
#include "train/estimate.h"
#include "train/run_data.h"
#include "train/run_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct tune_values {
  run_values run;
  double minutes;
  int64_t jobs;
} tune_values;

static const mo_setting rows[] = {
    RUN_CONFIG_ROW,
    MO_SETTING_NUMBER(tune_values, minutes, "30", 0.05, 1e6, "time for the search"),
    MO_SETTING_INTEGER(tune_values, jobs, "0", 0, 1024,
                       "trials at a time; 0: one per core; with --threads N, one per N cores"),
    /* That of 'mousse train', with another meaning. */
    {.name = "out",
     .type = MO_TYPE_TEXT,
     .initial = "",
     .help = "directory of the search (default: tune/OPTIMIZER-PRESET)",
     .offset = offsetof(tune_values, run.run.out),
     .size = MO_SETTING_PATH},
};

/* tune/OPTIMIZER-PRESET, unless --out says where. */
static void choose_directory(const train_options *run, char directory[MO_SETTING_PATH])
{
  const char *given = run->out[0] != '\0' ? run->out : run->checkpoint_dir;
  if (given[0] != '\0')
    snprintf(directory, MO_SETTING_PATH, "%s", given);
  else
    snprintf(directory, MO_SETTING_PATH, "tune/%s-%s", run->optimizer, run->preset);
}

/* All that can be wrong with a new search, before a directory is made for it. */
static mousse_status check_run(const train_options *run, const char *directory, mo_error *error)
{
  gpt_config config;
  train_estimate estimate;
  if (!run_directory_is_free(directory)) return MOUSSE_OK;
  MO_TRY(options_check(run, error));
  MO_TRY(run_model_find(run, NULL, NULL, &config, error));
  MO_TRY(run_data_has_validation(run->data_dir, "mousse tune", error));
  MO_TRY(estimate_open(&estimate, run, &config, 1, &run_notices_none, error));
  estimate_close(&estimate);
  return MOUSSE_OK;
}

static mousse_status write_report(const tune_search *t, const cli_invocation *call,
                                  mo_error *error)
{
  char path[MO_SETTING_PATH];
  json_t *results = NULL;
  mousse_status status = tune_report(t, "mousse tune", &results, error);
  if (status == MOUSSE_OK)
    status = mo_path_join(path, sizeof path, t->request->directory, "results.json", error);
  if (status == MOUSSE_OK) status = report_json(results, path, error);
  if (status == MOUSSE_OK)
    status = mo_path_join(path, sizeof path, t->request->directory, "report.html", error);
  if (status == MOUSSE_OK) status = report_write(results, path, error);
  if (status == MOUSSE_OK && !call->quiet) printf("report: %s\n", path);
  json_decref(results);
  return status;
}

static void print_best(const tune_search *t)
{
  const search_trial *best = search_best(&t->search);
  const study_setting found = tune_setting_at(t, &best->point);
  const study_setting carried = tune_carry(t, found, t->request->run.num_iterations);
  char details[96];
  details_text(found.details, details, sizeof details);
  printf("best of %zu trials of %lld steps: lr %.4g", t->search.count, (long long)t->steps,
         found.lr);
  if (t->momentum != NULL) printf(", %s %.4g", t->momentum, found.momentum);
  printf("%s%s; loss %.4f, where the search began ", details[0] != '\0' ? ", " : "",
         details[0] != '\0' ? details + 1 : "", best->loss);
  if (isfinite(t->search.trials[0].loss))
    printf("%.4f\n", t->search.trials[0].loss);
  else
    printf("it diverged\n");
  if (t->steps != t->request->run.num_iterations && t->momentum != NULL)
    printf("for %lld steps: %s %.4g\n", (long long)t->request->run.num_iterations, t->momentum,
           carried.momentum);
}

static mousse_status finish(const cli_invocation *call, tune_search *t, int stopped,
                            mo_error *error)
{
  if (stopped != 0) {
    fprintf(stderr, "\nmousse: stopped, all is saved; the same command continues\n");
    fflush(stdout);
    signals_end(stopped);
    return MOUSSE_OK;
  }
  char best[MO_SETTING_PATH];
  MO_TRY(mo_path_join(best, sizeof best, t->request->directory, "best.yaml", error));
  if (!call->quiet) {
    MO_TRY(study_print_table(&t->runs, error));
    print_best(t);
  }
  MO_TRY(write_report(t, call, error));
  next_step(call, "train --config %s", best);
  return MOUSSE_OK;
}

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  const tune_values *v = call->values;
  char directory[MO_SETTING_PATH], program[MO_SETTING_PATH];
  progress_line line = progress_line_start(call->quiet);
  int stopped = 0;
  choose_directory(&v->run.run, directory);
  MO_TRY(check_run(&v->run.run, directory, error));
  MO_TRY(study_program(program, error));
  const tune_request request = {
      .run = v->run.run,
      .directory = directory,
      .seconds = 60 * v->minutes,
      .execution = {.program = program,
                    .jobs = v->jobs > 0 ? (int)v->jobs : study_jobs(&v->run.run),
                    .stop_diverged = true,
                    .watch = study_progress_show,
                    .user = &line}};
  tune_search trials;
  mousse_status status = tune_execute(&trials, &request, &stopped, error);
  study_progress_end(&line, &trials.runs);
  if (status == MOUSSE_OK) status = finish(call, &trials, stopped, error);
  tune_close(&trials);
  return status;
}

const cli_command command_tune = {
    .name = "tune",
    .summary = "Find the learning rate and momentum for your data",
    .arguments = "",
    .details = "Takes the options of 'mousse train' and searches, with short runs that fit "
               "into the time given, for the learning rate, the momentum and the rates of "
               "embedding and head that end with the lowest loss. Hopeless runs are stopped "
               "early. The result is best.yaml in the directory of the search, with a page "
               "of all trials next to it. If the search is stopped or killed, the same command "
               "continues it.\n\n"
               "  mousse tune --data-dir data/book --num-iterations 2000 --minutes 30\n"
               "  mousse tune --data-dir data/book --optimizer muon --out tune/muon\n",
    .settings = MO_SETTINGS(rows),
    .base = &train_settings,
    .values_bytes = sizeof(tune_values),
    .run = run,
    .take = run_options_take,
    .configure = run_options_configure,
    .more_help = run_options_help,
};
