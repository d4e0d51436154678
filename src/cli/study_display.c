/* study_display.c - progress and results of many runs on a terminal. */
#include "cli/study_display.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/wording.h"
#include "cli/table.h"
#include "study/run_mean.h"
#include "train/run_model.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

study_display study_display_start(bool quiet)
{
  return (study_display){
      .line = progress_line_start(quiet), .started = mo_seconds(), .steps_before = -1};
}

/* A step of a model with so many weights in its layers is so much work. */
static double weight(const study_run *r)
{
  gpt_config config;
  if (run_model_from(&r->run, NULL, 0, &config, NULL) != MOUSSE_OK) return 1;
  return (double)config.n_layer * (double)config.n_embd * (double)config.n_embd *
         (double)r->run.batch_size * (double)config.sequence_len;
}

static void count_work(const study_runs *runs, double *done, double *all)
{
  *done = *all = 0;
  for (size_t i = 0; i < runs->count; i++) {
    const study_run *r = &runs->runs[i];
    const bool ended = study_run_ended(r);
    const double steps = (double)r->run.num_iterations, w = weight(r);
    *all += steps * w;
    *done += (ended ? steps : fmin((double)r->course.step, steps)) * w;
  }
}

static void show(study_display *d, const study_runs *runs)
{
  double done = 0, all = 0;
  char label[64], left[WORDING_SIZE + 8] = "", diverged[32], failed[32];
  count_work(runs, &done, &all);
  if (d->steps_before < 0) d->steps_before = done;
  if (done > d->steps_before)
    snprintf(
        left, sizeof left, "%s left",
        MO_DURATION((all - done) * (mo_seconds() - d->started) / (done - d->steps_before)));
  snprintf(label, sizeof label, "%zu/%zu runs", study_count(runs, STUDY_COMPLETE), runs->count);
  snprintf(diverged, sizeof diverged, "%zu diverged", study_count(runs, STUDY_DIVERGED));
  snprintf(failed, sizeof failed, "%zu failed", study_count(runs, STUDY_FAILED));
  const char *const fields[] = {diverged, failed, left};
  progress_line_show(&d->line, label, all > 0 ? done / all : 1, fields,
                     left[0] != '\0' ? 3 : 2);
}

void study_display_watch(void *display, const study_runs *runs)
{
  study_display *d = display;
  if (progress_line_due(&d->line)) show(d, runs);
}

void study_display_end(study_display *display, const study_runs *runs)
{
  if (runs->count > 0) show(display, runs); /* none, where it failed before the first */
  progress_line_end(&display->line);
}

static int by_loss(const void *a, const void *b)
{
  const study_run *const *x = a, *const *y = b;
  const bool done_x = (*x)->state == STUDY_COMPLETE, done_y = (*y)->state == STUDY_COMPLETE;
  const int order =
      done_x && done_y ? number_order(study_run_loss(*x), study_run_loss(*y)) : done_y - done_x;
  return order != 0 ? order : strcmp((*x)->name, (*y)->name);
}

static void add_row(cli_table *table, const study_run *r)
{
  table_cell(table, "%s", r->name);
  table_cell(table, "%s", study_state_name(r->state));
  table_cell(table, "%s of %s", MO_NUMBER(r->course.step), MO_NUMBER(r->run.num_iterations));
  if (isfinite(study_run_loss(r)))
    table_cell(table, "%.4f", study_run_loss(r));
  else
    table_cell(table, "-");
}

mousse_status study_print_table(const study_runs *runs, mo_error *error)
{
  static const table_column columns[] = {{.title = "run", .is_text = true, .is_cut = true},
                                         {.title = "state", .is_text = true},
                                         {.title = "step"},
                                         {.title = "val loss"}};
  cli_table table = {.columns = columns, .column_count = 4};
  const size_t bytes = (runs->count + 1) * sizeof(study_run *);
  const study_run **order = mo_allocate(NULL, bytes);
  if (order == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for the table of runs");
  for (size_t i = 0; i < runs->count; i++) order[i] = &runs->runs[i];
  qsort(order, runs->count, sizeof *order, by_loss);
  for (size_t i = 0; i < runs->count; i++) add_row(&table, order[i]);
  mo_release(NULL, order, bytes);
  return table_print(&table, error);
}

mousse_status study_program(char path[MO_SETTING_PATH], mo_error *error)
{
  const ssize_t length = readlink("/proc/self/exe", path, MO_SETTING_PATH - 1);
  if (length < 0)
    return mo_fail(error, MOUSSE_IO, "/proc/self/exe: cannot find this program: %s",
                   strerror(errno));
  path[length] = '\0';
  return MOUSSE_OK;
}
