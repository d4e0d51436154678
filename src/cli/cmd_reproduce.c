/* cmd_reproduce.c - mousse reproduce: every experiment of the paper, and one report. */
#include "base/file.h"
#include "base/parallel.h"
#include "base/text.h"
#include "cli/help.h"
#include "cli/next_step.h"
#include "cli/run_options.h"
#include "cli/study_display.h"
#include "paper/reproduce.h"
#include "report/report.h"
#include "support/signals.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char default_text[] = "data/austen.txt"; /* where scripts/get-corpus puts it */

typedef struct reproduce_values {
  int scale;
  char out[MO_SETTING_PATH], text[MO_SETTING_PATH], other_text[MO_SETTING_PATH],
      data_dir[MO_SETTING_PATH], archive[MO_SETTING_PATH];
  char regimes[32], contenders[512];
  int64_t jobs;
  bool dry_run;
} reproduce_values;

static const mo_setting rows[] = {
    MO_SETTING_CHOICE(reproduce_values, scale, "laptop", study_scale_names,
                      "size of the models and number of steps"),
    MO_SETTING_TEXT(
        reproduce_values, out, "",
        "directory for runs, report.html and results.json (default: reproduction/SCALE)"),
    MO_SETTING_TEXT(reproduce_values, text, "",
                    "text file to train on (default: data/austen.txt if it exists, else "
                    "sentences made up by a few rules)"),
    MO_SETTING_TEXT(reproduce_values, other_text, "",
                    "text file to fine-tune on, for the figure fine-tuning (default: questions "
                    "made up by a few rules)"),
    MO_SETTING_TEXT(reproduce_values, data_dir, "",
                    "directory of token shards to train on instead"),
    MO_SETTING_TEXT(reproduce_values, archive, "",
                    "file of finished runs: those in it are not made again, and new ones are "
                    "added to it"),
    MO_SETTING_INTEGER(reproduce_values, jobs, "0", 0, 1024, "runs at a time; 0: one per core"),
    MO_SETTING_TEXT(reproduce_values, regimes, "",
                    "only these regimes of the scale, by number, as in 1,3; the first always "
                    "takes part, since it tunes for the others (default: all)"),
    MO_SETTING_TEXT(reproduce_values, contenders, "",
                    "only these, separated by commas, in addition to Muon and AdamW; for the "
                    "figures verdict, tuning and beyond"),
    MO_SETTING_SWITCH(reproduce_values, dry_run, "false",
                      "show the runs and their states, and stop"),
};

/* Leaves the chosen ones in the scale, in its order. */
static mousse_status choose_regimes(const char *list, study_scale *scale, mo_error *error)
{
  char numbers[sizeof((reproduce_values *)NULL)->regimes];
  char *rest = numbers;
  bool chosen[STUDY_MOST_REGIMES] = {true};
  int kept = 0;
  if (list[0] == '\0') return MOUSSE_OK;
  memcpy(numbers, list, sizeof numbers);
  for (char *text = strsep(&rest, ","); text != NULL; text = strsep(&rest, ",")) {
    int64_t number = 0;
    if (!mo_parse_integer(text, &number) || number < 1 || number > scale->regime_count)
      return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                     "--regimes %s: '%s' is not a regime; the scale '%s' has 1 to %d, "
                     "separated by commas",
                     list, text, scale->name, scale->regime_count);
    chosen[number - 1] = true;
  }
  for (int i = 0; i < scale->regime_count; i++)
    if (chosen[i]) scale->regimes[kept++] = scale->regimes[i];
  scale->regime_count = kept;
  return MOUSSE_OK;
}

static mousse_status choose_contenders(const char *list, unsigned *contenders, mo_error *error)
{
  char names[512];
  char *rest = names;
  memcpy(names, list, sizeof names);
  for (char *name = strsep(&rest, ","); name != NULL; name = strsep(&rest, ",")) {
    while (*name == ' ') name++;
    if (*name != '\0') MO_TRY(contenders_add(contenders, name, error));
  }
  return MOUSSE_OK;
}

static mousse_status choose(const cli_invocation *call, study_request *request, mo_error *error)
{
  const reproduce_values *v = call->values;
  const unsigned compared = FIGURE_BIT(verdict) | FIGURE_BIT(tuning),
                 of_many = compared | FIGURE_BIT(beyond);
  MO_TRY(choose_contenders(v->contenders, &request->contenders, error));
  for (size_t i = 0; i < call->argument_count; i++)
    MO_TRY(figures_add(&request->figures, call->arguments[i], error));
  if (call->argument_count == 0)
    request->figures = request->contenders != 0 ? compared : ALL_FIGURES;
  if (request->contenders != 0 && (request->figures & ~of_many) != 0)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "--contenders applies only to the figures verdict, tuning and beyond; the "
                   "contenders of the others are fixed");
  return MOUSSE_OK;
}

/* "mousse reproduce lr-sweep --scale smoke": for the report. */
static void write_command(const cli_invocation *call, char *text, size_t capacity)
{
  const reproduce_values *v = call->values;
  size_t used = (size_t)snprintf(text, capacity, "mousse reproduce");
  for (size_t i = 0; i < call->argument_count && used < capacity; i++)
    used += (size_t)snprintf(text + used, capacity - used, " %s", call->arguments[i]);
  if (used < capacity)
    used += (size_t)snprintf(text + used, capacity - used, " --scale %s",
                             study_scale_names[v->scale]);
  if (used < capacity && v->regimes[0] != '\0')
    used += (size_t)snprintf(text + used, capacity - used, " --regimes %s", v->regimes);
  if (used < capacity && v->contenders[0] != '\0')
    snprintf(text + used, capacity - used, " --contenders '%.400s'", v->contenders);
}

static mousse_status write_report(const cli_invocation *call, const json_t *results,
                                  const char *directory, mo_error *error)
{
  char path[MO_SETTING_PATH];
  MO_TRY(mo_path_join(path, sizeof path, directory, "results.json", error));
  MO_TRY(report_json(results, path, error));
  MO_TRY(mo_path_join(path, sizeof path, directory, "report.html", error));
  MO_TRY(report_write(results, path, error));
  if (!call->quiet) printf("report: %s\n", path);
  next_step_words(call, "open %s in a browser", path);
  MO_TRY(mo_path_join(path, sizeof path, directory, "results.json", error));
  next_step(call, "report %s --text", path);
  return MOUSSE_OK;
}

static mousse_status execute(const cli_invocation *call, const reproduction *what,
                             progress_line *line, mo_error *error)
{
  json_t *results = NULL;
  int stopped = 0;
  mousse_status status = reproduce(what, &results, &stopped, error);
  progress_line_end(line);
  if (status != MOUSSE_OK) return status;
  if (stopped != 0) {
    fprintf(stderr, "mousse: stopped, all is saved; the same command continues\n");
    fflush(stdout);
    signals_end(stopped);
    return MOUSSE_OK;
  }
  status = write_report(call, results, what->directory, error);
  json_decref(results);
  return status;
}

static mousse_status show_plan(const cli_invocation *call, const reproduction *what,
                               mo_error *error)
{
  study_runs runs;
  mousse_status status = reproduce_plan(what, &runs, error);
  if (status == MOUSSE_OK) status = study_look(&runs, error);
  if (status == MOUSSE_OK) status = study_print_table(&runs, error);
  study_release(&runs);
  if (status == MOUSSE_OK) next_step_again(call, "reproduce", "dry_run");
  return status;
}

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  const reproduce_values *v = call->values;
  char program[MO_SETTING_PATH], directory[MO_SETTING_PATH], command[1200];
  progress_line line = progress_line_start(call->quiet);
  const char *text = v->text[0] != '\0'                ? v->text
                     : access(default_text, R_OK) == 0 ? default_text
                                                       : NULL;
  study_scale scale = *study_scale_find(study_scale_names[v->scale]);
  MO_TRY(choose_regimes(v->regimes, &scale, error));
  reproduction what = {
      .scale = &scale,
      .directory = directory,
      .data_dir = v->data_dir[0] != '\0' ? v->data_dir : NULL,
      .text = text,
      .other_text = v->other_text[0] != '\0' ? v->other_text : NULL,
      .archive = v->archive[0] != '\0' ? v->archive : NULL,
      .command = command,
      .notices = call->quiet ? &run_notices_none : &run_notices_print,
      .execution = {.program = program,
                    .jobs = v->jobs > 0 ? (int)v->jobs : mo_threads_available(),
                    .stop_diverged = true,
                    .watch = study_progress_show,
                    .user = &line},
  };
  if (v->out[0] != '\0')
    memcpy(directory, v->out, sizeof v->out);
  else
    snprintf(directory, sizeof directory, "reproduction/%s", what.scale->name);
  MO_TRY(choose(call, &what.request, error));
  MO_TRY(study_program(program, error));
  write_command(call, command, sizeof command);
  return v->dry_run ? show_plan(call, &what, error) : execute(call, &what, &line, error);
}

static void print_figures(void)
{
  printf("\nFigures:\n");
  for (size_t i = 0; i < FIGURE_COUNT; i++)
    help_item(figure_rows[i].id, figure_rows[i].title, 19);
  char names[512] = "", text[640];
  for (size_t i = 0; i < study_contender_count; i++)
    mo_list_add(names, sizeof names, study_contenders[i].label);
  snprintf(text, sizeof text, "Contenders: %s.", names);
  printf("\n");
  help_paragraph(text);
  printf("\nScales:\n");
  for (size_t i = 0; study_scale_names[i] != NULL; i++)
    help_item(study_scale_names[i], study_scale_find(study_scale_names[i])->help, 19);
}

const cli_command command_reproduce = {
    .name = "reproduce",
    .summary = "Reproduce the paper's experiments and report on them",
    .arguments = "[FIGURE...]",
    .details = "Makes all figures unless some are named. Every contender is tuned with the "
               "same number of runs; the best setting is then trained with seeds that played "
               "no part in choosing it (docs/evidence-protocol.md). A run that several figures "
               "share is made once. If it is stopped or killed, the same command continues; no "
               "finished run is repeated.\n\n"
               "  mousse reproduce --scale smoke -o /tmp/smoke\n"
               "  mousse reproduce verdict tuning --text book.txt\n",
    .settings = MO_SETTINGS(rows),
    .values_bytes = sizeof(reproduce_values),
    .most_arguments = FIGURE_COUNT,
    .run = run,
    .more_help = print_figures,
};
