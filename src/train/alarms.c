/* alarms.c - counts what is odd about the steps. */
#include "train/alarms.h"

#include <math.h>

enum { HIGH_IN_ROW = 10, UNIFORM_IN_ROW = 50, DEAD_IN_ROW = 3 };

run_alarms alarms_start(size_t vocabulary, uint64_t warmup_steps)
{
  return (run_alarms){.uniform = log((double)vocabulary), .first = NAN, .warmup = warmup_steps};
}

/* True once, when the condition has held so often in a row. */
static bool rings(unsigned *count, bool holds, unsigned limit, bool *told)
{
  *count = holds ? *count + 1 : 0;
  if (*count < limit || *told) return false;
  return *told = true;
}

void alarms_step(run_alarms *a, const step_report *r, const run_notices *notices)
{
  const unsigned long long step = r->step;
  if (!isfinite(r->loss)) return; /* told as skipped */
  if (isnan(a->first)) a->first = r->loss;
  const double limit = 1 + fmax(a->first, a->uniform);
  if (rings(&a->high, r->loss > limit, HIGH_IN_ROW, &a->told_diverged))
    run_notify(
        notices,
        "step %llu: the loss has been above %.2f for %d steps: the run has diverged; try a "
        "smaller --lr, more warm-up or --clip 1",
        step, limit, HIGH_IN_ROW);
  const bool uniform = r->step > a->warmup && fabs(r->loss - a->uniform) < 0.01 * a->uniform;
  if (rings(&a->uniform_like, uniform, UNIFORM_IN_ROW, &a->told_stuck))
    run_notify(notices,
               "step %llu: the loss stays at ln(vocabulary) = %.2f: the model learns nothing; "
               "the --lr is far too large or too small",
               step, a->uniform);
  if (rings(&a->dead, r->grad_norm == 0, DEAD_IN_ROW, &a->told_dead))
    run_notify(notices, "step %llu: the gradient is 0: the weights do not change any more",
               step);
}
