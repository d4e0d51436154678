/* study_display.c - progress and results of many runs on a terminal. */
#include "cli/study_display.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/wording.h"
#include "cli/table.h"
#include "study/progress.h"
#include "study/run_mean.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void show(progress_line *line, const study_runs *runs)
{
  const study_progress p = study_progress_of(runs, mo_seconds());
  char label[64], left[WORDING_SIZE + 8], diverged[32], failed[32];
  snprintf(label, sizeof label, "%zu/%zu runs", p.ended, p.count);
  snprintf(diverged, sizeof diverged, "%zu diverged", study_count(runs, STUDY_DIVERGED));
  snprintf(failed, sizeof failed, "%zu failed", study_count(runs, STUDY_FAILED));
  snprintf(left, sizeof left, "%s left", MO_DURATION(p.seconds_left));
  const char *const fields[] = {diverged, failed, left};
  progress_line_show(line, label, p.fraction, fields, isnan(p.seconds_left) ? 2 : 3);
}

void study_progress_show(void *line, const study_runs *runs)
{
  if (progress_line_due(line)) show(line, runs);
}

void study_progress_end(progress_line *line, const study_runs *runs)
{
  if (runs->count > 0) show(line, runs); /* none, where it failed before the first */
  progress_line_end(line);
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
