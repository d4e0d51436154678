/* cmd_report.c - mousse report: what training runs show, as a page, pictures, text or JSON. */
#include "base/file.h"
#include "cli/next_step.h"
#include "cli/terminal.h"
#include "report/report.h"
#include "study/report_runs.h"
#include "study/runs_csv.h"
#include "train/model_files.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONGEST_COMMAND = 1024 };

typedef struct report_values {
  char out[MO_SETTING_PATH], svg[MO_SETTING_PATH], csv[MO_SETTING_PATH], json[MO_SETTING_PATH];
  bool text;
  double target_loss;
} report_values;

static const mo_setting rows[] = {
    MO_SETTING_TEXT(report_values, out, "",
                    "or -o: the page to write; by default report.html in the first DIR or next "
                    "to RESULTS.json, unless another output is given"),
    MO_SETTING_TEXT(report_values, svg, "",
                    "write every chart as a picture into this directory"),
    MO_SETTING_TEXT(report_values, csv, "",
                    "write runs.csv and metrics.csv into this directory; for RESULTS.json, "
                    "every chart and table"),
    MO_SETTING_TEXT(report_values, json, "", "write the results as JSON into this file"),
    MO_SETTING_SWITCH(report_values, text, "false", "print tables and charts to the terminal"),
    MO_SETTING_NUMBER(report_values, target_loss, "0", 0, 1e6,
                      "count steps and seconds to this validation loss; 0: to the lowest one "
                      "that all variants reach at their best learning rates"),
};

static mousse_status print_text(const json_t *results, mo_error *error)
{
  mo_buffer text = {0};
  const size_t width = terminal_has_columns(stdout) ? terminal_columns(stdout) : 0;
  const mousse_status status = report_text(results, width, &text, error);
  if (status == MOUSSE_OK) fwrite(text.data, 1, text.size, stdout);
  mo_buffer_close(&text);
  return status;
}

/* A document of results instead of runs, as 'mousse reproduce' leaves it. A run may be called so. */
static bool is_document(const char *path)
{
  struct stat info;
  const size_t length = strlen(path);
  return length > 5 && strcmp(path + length - 5, ".json") == 0 &&
         !(stat(path, &info) == 0 && S_ISDIR(info.st_mode));
}

/* Where the page goes; "" when only other forms are asked for. */
static mousse_status page_path(const cli_invocation *call, char path[MO_SETTING_PATH],
                               mo_error *error)
{
  const report_values *v = call->values;
  char directory[MO_SETTING_PATH];
  memcpy(path, v->out, sizeof v->out);
  const bool others = v->text || v->svg[0] != '\0' || v->csv[0] != '\0' || v->json[0] != '\0';
  if (path[0] != '\0' || others) return MOUSSE_OK;
  snprintf(directory, sizeof directory, "%s", call->arguments[0]);
  if (is_document(directory))
    MO_TRY(mo_path_parent(directory, sizeof directory, call->arguments[0], error));
  return mo_path_join(path, MO_SETTING_PATH, directory, "report.html", error);
}

static void suggest(const cli_invocation *call, const char *page)
{
  const report_values *v = call->values;
  if (page[0] != '\0')
    next_step_words(call, "open %s in a browser", page);
  else if (v->text)
    next_step_again(call, "report", "text");
  else
    next_step(call, "report %s --text", call->arguments[0]);
}

/* The model that a comparison was about: the one with the lowest loss. */
static void suggest_best(const cli_invocation *call, const run_records *records)
{
  const run_record *best = NULL;
  for (size_t i = 0; i < records->count; i++) {
    const run_record *r = &records->list[i];
    char checkpoints[MO_SETTING_PATH];
    if (!isfinite(r->final_loss) || run_record_blew_up(r)) continue;
    if (mo_path_join(checkpoints, sizeof checkpoints, r->directory, "checkpoints", NULL) !=
            MOUSSE_OK ||
        access(checkpoints, F_OK) != 0)
      continue;
    if (best == NULL || r->final_loss < best->final_loss) best = r;
  }
  if (best != NULL && model_files_can_write(best->directory))
    next_step(call, "generate --init %s", best->directory);
}

/* What was written besides the page, which is printed last. */
static void print_places(const cli_invocation *call)
{
  const report_values *v = call->values;
  const char *const places[] = {v->csv, v->json, v->svg};
  for (size_t i = 0; i < 3 && !v->text; i++)
    if (places[i][0] != '\0') printf("%s\n", places[i]);
}

static mousse_status write_all(const cli_invocation *call, const json_t *results,
                               mo_error *error)
{
  const report_values *v = call->values;
  char page[MO_SETTING_PATH];
  MO_TRY(page_path(call, page, error));
  if (v->json[0] != '\0') MO_TRY(report_json(results, v->json, error));
  if (v->svg[0] != '\0') MO_TRY(report_svg(results, v->svg, error));
  print_places(call);
  if (v->text) MO_TRY(print_text(results, error));
  if (page[0] != '\0') MO_TRY(report_write(results, page, error));
  if (page[0] != '\0' && !v->text) printf("%s\n", page);
  suggest(call, page);
  return MOUSSE_OK;
}

static void join_command(const cli_invocation *call, char command[LONGEST_COMMAND])
{
  size_t used = (size_t)snprintf(command, LONGEST_COMMAND, "mousse report");
  for (size_t i = 0; i < call->argument_count && used < LONGEST_COMMAND; i++)
    used += (size_t)snprintf(command + used, LONGEST_COMMAND - used, " %s", call->arguments[i]);
}

static mousse_status report(const cli_invocation *call, const run_records *records,
                            mo_error *error)
{
  const report_values *v = call->values;
  char command[LONGEST_COMMAND];
  json_t *results = NULL;
  if (v->csv[0] != '\0') MO_TRY(runs_csv_write(records, v->csv, error));
  join_command(call, command);
  MO_TRY(report_runs(records, command, v->target_loss > 0 ? v->target_loss : NAN, &results,
                     error));
  const mousse_status status = write_all(call, results, error);
  json_decref(results);
  if (status == MOUSSE_OK) suggest_best(call, records);
  return status;
}

static mousse_status report_document(const cli_invocation *call, mo_error *error)
{
  const report_values *v = call->values;
  json_t *results = NULL;
  if (call->argument_count > 1)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "%.200s: a results file must be the only argument", call->arguments[0]);
  MO_TRY(results_read(&results, call->arguments[0], error));
  mousse_status status = MOUSSE_OK;
  if (v->csv[0] != '\0') status = report_csv(results, v->csv, error);
  if (status == MOUSSE_OK) status = write_all(call, results, error);
  json_decref(results);
  return status;
}

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  run_records records = {0};
  if (is_document(call->arguments[0])) return report_document(call, error);
  mousse_status status = MOUSSE_OK;
  for (size_t i = 0; i < call->argument_count && status == MOUSSE_OK; i++)
    status = run_records_find(&records, call->arguments[i], RECORD_CURVES, error);
  if (status == MOUSSE_OK) status = report(call, &records, error);
  run_records_release(&records);
  return status;
}

const cli_command command_report = {
    .name = "report",
    .summary = "Compare training runs: one page with charts and tables, pictures, or text",
    .arguments = "DIR... | RESULTS.json",
    .details =
        "DIR is the --out of a run, or a directory with runs below it. Runs that differ "
        "only in their seed are shown as a mean with its spread. The page is one file and "
        "needs no network; the pictures are drawn by gnuplot; --csv is for spreadsheets and "
        "data frames.\n\n"
        "  mousse report runs -o report.html\n"
        "  mousse report runs/mousse runs/muon --text\n"
        "  mousse report runs --svg figures --json results.json\n"
        "  mousse report runs --csv tables\n"
        "  mousse report reproduction/smoke/results.json --svg figures\n",
    .settings = MO_SETTINGS(rows),
    .values_bytes = sizeof(report_values),
    .least_arguments = 1,
    .most_arguments = ANY_NUMBER_OF_ARGUMENTS,
    .run = run,
};
