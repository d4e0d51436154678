/* cmd_sweep.c - mousse sweep: many training runs, from options with several values. */
#include "base/parallel.h"
#include "cli/next_step.h"
#include "cli/run_options.h"
#include "cli/study_display.h"
#include "study/sweep.h"
#include "support/signals.h"
#include "train/run_data.h"

#include <stdio.h>
#include <string.h>

typedef struct sweep_values {
  sweep_axes axes;
  char out[MO_SETTING_PATH];
  int64_t jobs, random, random_seed;
  bool stop_diverged, dry_run;
} sweep_values;

static const mo_setting rows[] = {
    MO_SETTING_TEXT(sweep_values, out, "",
                    "directory of the sweep, a run directory for each run "
                    "inside (default: sweeps/NAME for NAME.yaml)"),
    MO_SETTING_INTEGER(sweep_values, jobs, "0", 0, 1024,
                       "runs at a time; 0: one per core; with --threads N, one per N cores"),
    MO_SETTING_INTEGER(sweep_values, random, "0", 0, SWEEP_MOST_RUNS,
                       "draw this many combinations at random instead of trying all"),
    MO_SETTING_INTEGER(sweep_values, random_seed, "1", 0, 9007199254740992,
                       "seed of that draw"),
    MO_SETTING_SWITCH(sweep_values, stop_diverged, "true",
                      "end a run whose loss is far above where it began"),
    MO_SETTING_SWITCH(sweep_values, dry_run, "false",
                      "show the runs and their states, and stop"),
};

static mousse_status take(void *values_, const char *name, const char *text, mo_error *error)
{
  sweep_values *v = values_;
  return sweep_set(&v->axes, name, text, error);
}

/* sweeps/NAME for some/where/NAME.yaml, where NAME may have dots: lr-0.1 and lr-0.2 are two. */
static mousse_status choose_directory(const cli_invocation *call, char out[MO_SETTING_PATH],
                                      mo_error *error)
{
  const sweep_values *v = call->values;
  if (v->out[0] != '\0') {
    memcpy(out, v->out, sizeof v->out);
    return MOUSSE_OK;
  }
  if (call->argument_count == 0)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "sweep needs --out DIRECTORY or a file");
  const char *name = strrchr(call->arguments[0], '/');
  name = name != NULL ? name + 1 : call->arguments[0];
  const char *ending = strrchr(name, '.');
  const size_t length =
      ending != NULL && ending > name ? (size_t)(ending - name) : strlen(name);
  snprintf(out, MO_SETTING_PATH, "sweeps/%.*s", (int)length, name);
  return MOUSSE_OK;
}

/* The file first, flags over it. */
static mousse_status plan(const cli_invocation *call, study_runs *runs, mo_error *error)
{
  const sweep_values *v = call->values;
  sweep_axes axes = {.count = 0};
  if (call->argument_count > 0)
    MO_TRY(run_options_written(sweep_read(&axes, call->arguments[0], error)));
  for (size_t i = 0; i < v->axes.count; i++) MO_TRY(sweep_put(&axes, &v->axes.axes[i], error));
  MO_TRY(choose_directory(call, runs->directory, error));
  return sweep_plan(&axes, (size_t)v->random, (uint64_t)v->random_seed, runs, error);
}

static mousse_status tell_failures(const study_runs *runs, mo_error *error)
{
  const size_t failed = study_count(runs, STUDY_FAILED);
  if (failed > 0)
    return mo_fail(error, MOUSSE_IO,
                   "%zu of %zu runs failed: see output.txt in their directories; the same "
                   "command tries them again",
                   failed, runs->count);
  return MOUSSE_OK;
}

/* Those that are left to do would all fail, and hold the places of the ones that are meant. */
static mousse_status check_data(study_runs *runs, mo_error *error)
{
  const char *known = NULL;
  MO_TRY(study_look(runs, error));
  for (size_t i = 0; i < runs->count; i++) {
    size_t vocabulary = 0;
    const char *data_dir = runs->runs[i].run.data_dir;
    if (study_run_ended(&runs->runs[i]) || (known != NULL && strcmp(known, data_dir) == 0))
      continue;
    MO_TRY(run_data_vocabulary(data_dir, &vocabulary, error));
    known = data_dir;
  }
  return MOUSSE_OK;
}

static int fewest_jobs(const study_runs *runs)
{
  int jobs = mo_threads_available();
  for (size_t i = 0; i < runs->count; i++)
    if (study_jobs(&runs->runs[i].run) < jobs) jobs = study_jobs(&runs->runs[i].run);
  return jobs;
}

static mousse_status execute(const cli_invocation *call, study_runs *runs, mo_error *error)
{
  const sweep_values *v = call->values;
  progress_line line = progress_line_start(call->quiet);
  char program[MO_SETTING_PATH];
  int stopped = 0;
  MO_TRY(check_data(runs, error));
  MO_TRY(study_program(program, error));
  const study_execution how = {
      .program = program,
      .jobs = v->jobs > 0 ? (int)v->jobs : fewest_jobs(runs),
      .stop_diverged = v->stop_diverged,
      .watch = study_progress_show,
      .user = &line,
  };
  const mousse_status status = study_execute(runs, &how, &stopped, error);
  study_progress_end(&line, runs);
  if (status != MOUSSE_OK) return status;
  if (!call->quiet) MO_TRY(study_print_table(runs, error));
  if (stopped != 0) {
    fprintf(stderr, "mousse: stopped, all is saved; the same command continues\n");
    fflush(stdout);
    signals_end(stopped);
    return MOUSSE_OK;
  }
  MO_TRY(tell_failures(runs, error));
  next_step(call, "report %s", runs->directory);
  return MOUSSE_OK;
}

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  const sweep_values *v = call->values;
  study_runs runs = {.runs = NULL};
  mousse_status status = plan(call, &runs, error);
  if (status == MOUSSE_OK && v->dry_run) {
    status = study_look(&runs, error);
    if (status == MOUSSE_OK) status = study_print_table(&runs, error);
    if (status == MOUSSE_OK) next_step_again(call, "sweep", "dry_run");
  } else if (status == MOUSSE_OK) {
    status = execute(call, &runs, error);
  }
  study_release(&runs);
  return status;
}

const cli_command command_sweep = {
    .name = "sweep",
    .summary = "Train with every combination of some options",
    .arguments = "[FILE.yaml]",
    .details =
        "The file is a configuration as for 'mousse train --config' in which any option may "
        "have a list of values; on the command line, values are separated by commas. In the "
        "file, text that may contain commas (a prompt, a pattern, a path) is one value unless "
        "it is a list. All options of 'mousse train' can be given. With --random N, "
        "'log LOW HIGH' and 'uniform LOW HIGH' are ranges to draw from.\n\n"
        "If a sweep is stopped or killed, the same command continues it; no finished run is "
        "repeated. 'mousse report DIR' makes a page of the results.\n\n"
        "  mousse sweep lr.yaml\n"
        "  mousse sweep --out sweeps/lr --data-dir data/book --preset nano \\\n"
        "    --optimizer mousse,muon --lr 0.04,0.08,0.16 --seed 1,2,3\n"
        "  mousse sweep lr.yaml --random 20 --lr 'log 0.001 0.1'\n",
    .settings = MO_SETTINGS(rows),
    .values_bytes = sizeof(sweep_values),
    .most_arguments = 1,
    .run = run,
    .take = take,
    .taken = &train_settings,
};
