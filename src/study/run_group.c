/* run_group.c - runs that are alike but for their seed. */
#include "study/run_group.h"

#include <math.h>

void run_group_start(run_group *group)
{
  const run_mean none = run_mean_of_none();
  *group = (run_group){.lr = NAN,
                       .final_loss = none,
                       .final_bits = none,
                       .step_seconds = none,
                       .peak_bytes = none};
}

static const run_record *run_of_seed(const run_group *group, int64_t seed)
{
  for (size_t i = 0; i < group->count; i++)
    if (group->runs[i]->complete && group->runs[i]->options.seed == seed) return group->runs[i];
  return NULL;
}

mousse_status run_group_add(run_group *group, const run_record *run, mo_error *error)
{
  if (run->complete && run_of_seed(group, run->options.seed) != NULL) {
    if (group->repeats++ == 0) group->repeat = run;
    return MOUSSE_OK;
  }
  if (!mo_grow(NULL, &group->runs, &group->capacity, group->count + 1, sizeof *group->runs))
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory to group the runs");
  group->runs[group->count++] = run;
  run_mean_add(&group->final_loss, run->complete ? run->final_loss : NAN);
  run_mean_add(&group->final_bits, run->complete ? run->final_bits : NAN);
  run_mean_add(&group->step_seconds, run->step_seconds);
  run_mean_add(&group->peak_bytes, run->result.peak_bytes);
  return MOUSSE_OK;
}

void run_group_release(run_group *group)
{
  mo_release(NULL, group->runs, group->capacity * sizeof *group->runs);
  *group = (run_group){0};
}

bool run_group_blew_up(const run_group *group)
{
  for (size_t i = 0; i < group->count; i++)
    if (run_record_blew_up(group->runs[i])) return true;
  return false;
}

/* Runs of a group validate at the same steps, so the index is the place to look first. */
static double validation_at(const run_record *run, size_t index, uint64_t step)
{
  size_t low = 0, high = run->validation_count;
  if (index < high && run->validations[index].step == step) return run->validations[index].loss;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (run->validations[middle].step < step)
      low = middle + 1;
    else
      high = middle;
  }
  const bool found = low < run->validation_count && run->validations[low].step == step;
  return found ? run->validations[low].loss : NAN;
}

static uint64_t last_step(const run_record *run)
{
  return run->step_count > 0 ? run->steps[run->step_count - 1].step : 0;
}

const run_record *run_group_longest(const run_group *group)
{
  const run_record *longest = group->count > 0 ? group->runs[0] : NULL;
  for (size_t i = 1; i < group->count; i++) {
    const run_record *run = group->runs[i];
    const uint64_t last = last_step(run), before = last_step(longest);
    if (last > before || (last == before && run->validation_count > longest->validation_count))
      longest = run;
  }
  return longest;
}

static bool validation_of(const run_group *group, bool only_complete, size_t index,
                          uint64_t *step, run_mean *loss)
{
  const run_record *longest = run_group_longest(group);
  *loss = run_mean_of_none();
  if (longest == NULL || index >= longest->validation_count) return false;
  *step = longest->validations[index].step;
  for (size_t i = 0; i < group->count; i++)
    if (group->runs[i]->complete || !only_complete)
      run_mean_add(loss, validation_at(group->runs[i], index, *step));
  return true;
}

bool run_group_validation(const run_group *group, size_t index, uint64_t *step, run_mean *loss)
{
  return validation_of(group, false, index, step, loss);
}

static bool has_complete(const run_group *group)
{
  for (size_t i = 0; i < group->count; i++)
    if (group->runs[i]->complete) return true;
  return false;
}

double run_group_steps_to(const run_group *group, double target)
{
  double before = NAN, before_step = 0;
  uint64_t step = 0;
  run_mean loss;
  const bool only_complete = has_complete(group);
  for (size_t i = 0; validation_of(group, only_complete, i, &step, &loss); i++) {
    if (loss.mean <= target && !isfinite(before)) return (double)step;
    if (loss.mean <= target)
      return before_step +
             ((double)step - before_step) * (before - target) / (before - loss.mean);
    before = loss.mean;
    before_step = (double)step;
  }
  return NAN;
}

static double loss_of_seed(const run_group *group, int64_t seed)
{
  const run_record *run = run_of_seed(group, seed);
  return run != NULL ? run->final_loss : NAN;
}

run_ratio run_group_ratio(const run_group *group, const run_group *reference,
                          const run_group *other, const run_group *base)
{
  enum { MOST = 64 };
  double upper[MOST], lower[MOST];
  size_t count = 0;
  for (size_t i = 0; i < group->count && count < MOST; i++) {
    const int64_t seed = group->runs[i]->options.seed;
    upper[count] = loss_of_seed(group, seed) - loss_of_seed(reference, seed);
    lower[count] = loss_of_seed(other, seed) - loss_of_seed(base, seed);
    count += isfinite(upper[count]) && isfinite(lower[count]);
  }
  return run_ratio_of(upper, lower, count);
}

run_mean run_group_paired(const run_group *group, const run_group *reference)
{
  run_mean difference = run_mean_of_none();
  for (size_t i = 0; i < group->count; i++) {
    const run_record *run = group->runs[i];
    const run_record *other = run_of_seed(reference, run->options.seed);
    if (run->complete && other != NULL)
      run_mean_add(&difference, run->final_loss - other->final_loss);
  }
  return difference;
}
