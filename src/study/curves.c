/* curves.c - losses of groups over their steps. */
#include "study/curves.h"

#include <math.h>

enum { WINDOWS = 50 }; /* a window is a 50th of a run */

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

double curve_last_step(const run_group *group)
{
  uint64_t last = 0;
  for (size_t r = 0; r < group->count; r++) {
    const run_record *run = group->runs[r];
    if (run->step_count > 0 && run->steps[run->step_count - 1].step > last)
      last = run->steps[run->step_count - 1].step;
  }
  return (double)last;
}

void curve_views(json_t *chart)
{
  if (json_object_get(chart, "views") != NULL) return;
  results_view(chart, results_axis("tokens", "linear"));
  results_view(chart, results_axis("seconds", "linear"));
}

/* The tokens seen after a step. */
static double tokens_at(const run_group *group, double step)
{
  const run_record *run = run_group_longest(group);
  const size_t index = index_of(run, step);
  if (step <= 0) return 0;
  return index < run->step_count ? (double)run->steps[index].tokens : NAN;
}

static void add_point(json_t *series, const run_group *group, double step, run_mean loss)
{
  results_point(series, step, loss.mean, loss.spread);
  results_also(series, 0, tokens_at(group, step));
  results_also(series, 1, step * group->step_seconds.mean);
}

/* Of many validations some, evenly, and always the last. */
static bool is_taken(size_t index, size_t count, size_t most)
{
  if (count <= most || index + 1 == count) return true;
  return index * most / count != (index + 1) * most / count;
}

void curve_validation(json_t *series, const run_group *group, double from, size_t most)
{
  uint64_t step = 0;
  run_mean loss;
  const run_record *longest = run_group_longest(group);
  const size_t count = longest != NULL ? longest->validation_count : 0;
  for (size_t i = 0; i < count; i++) {
    if (!is_taken(i, count, most)) continue;
    run_group_validation(group, i, &step, &loss);
    if ((double)step >= from) add_point(series, group, (double)step, loss);
  }
}

void curve_training(json_t *series, const run_group *group, double from, size_t most)
{
  const double last = curve_last_step(group), half = last / WINDOWS / 2;
  const double room = floor(fmax(0, last - from)); /* whole steps */
  const double points = fmin(room, (double)most);
  for (double i = 1; i <= points; i++) {
    const double step = rint(last - room + room * i / points);
    run_mean loss = run_mean_of_none();
    for (size_t r = 0; r < group->count; r++)
      run_mean_add(&loss, loss_between(group->runs[r], step - half, step + half));
    add_point(series, group, step, loss);
  }
}
