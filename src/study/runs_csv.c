/* runs_csv.c - records of runs as CSV. */
#include "study/runs_csv.h"

#include "base/file.h"
#include "report/csv.h"

#include <stdio.h>
#include <string.h>

/* The names of all opt.NAME and scalar.NAME that some run sets. */
typedef struct option_names {
  train_option names[4 * OPTION_MOST];
  size_t count;
} option_names;

static const train_option *find(const train_options *run, const train_option *wanted)
{
  for (size_t i = 0; i < run->option_count; i++)
    if (run->options[i].scalar == wanted->scalar &&
        strcmp(run->options[i].name, wanted->name) == 0)
      return &run->options[i];
  return NULL;
}

static void collect(option_names *all, const train_options *run)
{
  for (size_t i = 0; i < run->option_count; i++) {
    size_t at = 0;
    while (at < all->count && (all->names[at].scalar != run->options[i].scalar ||
                               strcmp(all->names[at].name, run->options[i].name) != 0))
      at++;
    if (at == all->count && at < sizeof all->names / sizeof *all->names)
      all->names[all->count++] = run->options[i];
  }
}

/* Its name, or its directory where another run has that name as well. */
static const char *name_of(const run_records *records, const run_record *run)
{
  for (size_t i = 0; i < records->count; i++)
    if (&records->list[i] != run && strcmp(records->list[i].name, run->name) == 0)
      return run->directory;
  return run->name;
}

static void write_head(csv_writer *csv, const option_names *options)
{
  static const char *const columns[] = {"run",          "directory",    "state",
                                        "steps_taken",  "final_loss",   "final_bits_per_byte",
                                        "step_seconds", "wall_seconds", "cpu_seconds",
                                        "peak_bytes"};
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) csv_text(csv, columns[i]);
  for (size_t row = 0; row < train_settings.count; row++)
    csv_text(csv, train_settings.rows[row].name);
  for (size_t i = 0; i < options->count; i++) {
    char name[OPTION_TEXT_SIZE + 8];
    const train_option *option = &options->names[i];
    snprintf(name, sizeof name, "%s.%s", option->scalar ? "scalar" : "opt", option->name);
    csv_text(csv, name);
  }
  csv_end_row(csv);
}

static void write_run(csv_writer *csv, const char *name, const run_record *run,
                      const option_names *options)
{
  char text[MO_SETTING_PATH];
  csv_text(csv, name);
  csv_text(csv, run->directory);
  csv_text(csv, run_record_state(run));
  csv_number(csv, run->step_count > 0 ? (double)run->steps[run->step_count - 1].step : 0);
  csv_number(csv, run->final_loss);
  csv_number(csv, run->final_bits);
  csv_number(csv, run->step_seconds);
  csv_number(csv, run->result.wall_seconds);
  csv_number(csv, run->result.cpu_seconds);
  csv_number(csv, run->result.peak_bytes);
  for (size_t row = 0; row < train_settings.count; row++)
    csv_text(csv, mo_setting_text(&train_settings.rows[row], &run->options, text, sizeof text)
                      ? text
                      : "");
  for (size_t i = 0; i < options->count; i++) {
    const train_option *option = find(&run->options, &options->names[i]);
    csv_text(csv, option != NULL ? option->value : "");
  }
  csv_end_row(csv);
}

static mousse_status write_runs(const run_records *records, const char *directory,
                                mo_error *error)
{
  char path[MO_SETTING_PATH];
  csv_writer csv;
  option_names options = {.count = 0};
  for (size_t i = 0; i < records->count; i++) collect(&options, &records->list[i].options);
  MO_TRY(mo_path_join(path, sizeof path, directory, "runs.csv", error));
  csv_open(&csv, path, error);
  write_head(&csv, &options);
  for (size_t i = 0; i < records->count; i++)
    write_run(&csv, name_of(records, &records->list[i]), &records->list[i], &options);
  return csv_close(&csv);
}

static void write_step(csv_writer *csv, const char *name, const record_step *s)
{
  csv_text(csv, name);
  csv_number(csv, (double)s->step);
  csv_number(csv, (double)s->tokens);
  csv_number(csv, s->loss);
  csv_number(csv, s->lr);
  csv_number(csv, s->grad_norm);
  csv_number(csv, s->seconds);
  csv_text(csv, "");
  csv_text(csv, "");
  csv_end_row(csv);
}

static void write_validation(csv_writer *csv, const char *name, const record_validation *v)
{
  csv_text(csv, name);
  csv_number(csv, (double)v->step);
  csv_number(csv, (double)v->tokens);
  for (int i = 0; i < 4; i++) csv_text(csv, "");
  csv_number(csv, v->loss);
  csv_number(csv, v->bits_per_byte);
  csv_end_row(csv);
}

/* Steps and validations in the order of their steps, as they were made. */
static void write_metrics_of(csv_writer *csv, const run_records *records, const run_record *run)
{
  const char *name = name_of(records, run);
  size_t v = 0;
  for (size_t s = 0; s < run->step_count; s++) {
    for (; v < run->validation_count && run->validations[v].step < run->steps[s].step; v++)
      write_validation(csv, name, &run->validations[v]);
    write_step(csv, name, &run->steps[s]);
  }
  for (; v < run->validation_count; v++) write_validation(csv, name, &run->validations[v]);
}

static mousse_status write_metrics(const run_records *records, const char *directory,
                                   mo_error *error)
{
  static const char *const columns[] = {"run",     "step",     "tokens",
                                        "loss",    "lr",       "grad_norm",
                                        "seconds", "val_loss", "val_bits_per_byte"};
  char path[MO_SETTING_PATH];
  csv_writer csv;
  MO_TRY(mo_path_join(path, sizeof path, directory, "metrics.csv", error));
  csv_open(&csv, path, error);
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) csv_text(&csv, columns[i]);
  csv_end_row(&csv);
  for (size_t i = 0; i < records->count; i++)
    write_metrics_of(&csv, records, &records->list[i]);
  return csv_close(&csv);
}

mousse_status runs_csv_write(const run_records *records, const char *directory, mo_error *error)
{
  MO_TRY(mo_make_directories(directory, error));
  MO_TRY(write_runs(records, directory, error));
  return write_metrics(records, directory, error);
}
