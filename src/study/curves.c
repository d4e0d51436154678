/* curves.c - losses of groups over their steps. */
#include "study/curves.h"

#include <math.h>

enum { MOST_POINTS = 300, WINDOWS = 50 }; /* a window is a 50th of a run */

static double validation_at(const run_record *run, uint64_t step)
{
  for (size_t i = 0; i < run->validation_count; i++)
    if (run->validations[i].step == step) return run->validations[i].loss;
  return NAN;
}

/* The index of the first step that is not before `step`. */
static size_t index_of(const run_record *run, double step)
{
  size_t low = 0, high = run->step_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if ((double)run->steps[middle].step < step)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* The mean of the losses from step `first` to step `last`. */
static double loss_between(const run_record *run, double first, double last)
{
  double sum = 0;
  size_t count = 0;
  for (size_t i = index_of(run, first); i < run->step_count; i++) {
    if ((double)run->steps[i].step > last) break;
    if (!isfinite(run->steps[i].loss)) continue;
    sum += run->steps[i].loss;
    count++;
  }
  return count > 0 ? sum / (double)count : NAN;
}

static double *values_of(const run_group *group, mo_error *error)
{
  double *values = mo_allocate(NULL, group->count * sizeof *values);
  if (values == NULL)
    mo_fail(error, MOUSSE_NO_MEMORY, "no memory for the curves of %s", group->label);
  return values;
}

static uint64_t last_step(const run_group *group)
{
  uint64_t last = 0;
  for (size_t r = 0; r < group->count; r++) {
    const run_record *run = group->runs[r];
    if (run->step_count > 0 && run->steps[run->step_count - 1].step > last)
      last = run->steps[run->step_count - 1].step;
  }
  return last;
}

mousse_status curve_validation(json_t *series, const run_group *group, double from,
                               mo_error *error)
{
  const run_record *first = group->runs[0];
  const double begin = from * (double)last_step(group);
  double *values = values_of(group, error);
  if (values == NULL) return MOUSSE_NO_MEMORY;
  for (size_t i = 0; i < first->validation_count; i++) {
    const uint64_t step = first->validations[i].step;
    if ((double)step < begin) continue;
    for (size_t r = 0; r < group->count; r++) values[r] = validation_at(group->runs[r], step);
    const run_mean mean = run_mean_of(values, group->count);
    results_point(series, (double)step, mean.mean, mean.spread);
  }
  mo_release(NULL, values, group->count * sizeof *values);
  return MOUSSE_OK;
}

mousse_status curve_training(json_t *series, const run_group *group, double from,
                             mo_error *error)
{
  const double last = (double)last_step(group), half = last / WINDOWS / 2;
  const double room = floor((1 - from) * last);
  const double points = room < MOST_POINTS ? room : MOST_POINTS;
  double *values = values_of(group, error);
  if (values == NULL) return MOUSSE_NO_MEMORY;
  for (double i = 1; i <= points; i++) {
    const double step = rint(last - room + room * i / points);
    for (size_t r = 0; r < group->count; r++)
      values[r] = loss_between(group->runs[r], step - half, step + half);
    const run_mean mean = run_mean_of(values, group->count);
    results_point(series, step, mean.mean, mean.spread);
  }
  mo_release(NULL, values, group->count * sizeof *values);
  return MOUSSE_OK;
}
