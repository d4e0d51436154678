/* progress.c - steps that were taken, weighed by what they cost. */
#include "study/progress.h"

#include "train/run_model.h"

#include <math.h>

/* What a step costs: the weights in its layers, times its tokens. */
static double cost(const train_options *run)
{
  gpt_config config;
  if (run_model_from(run, NULL, 0, &config, NULL) != MOUSSE_OK) return 1;
  return (double)config.n_layer * (double)config.n_embd * (double)config.n_embd *
         (double)run->batch_size * (double)config.sequence_len;
}

void study_expect(study_runs *runs, const train_options *run, size_t count)
{
  runs->expected.count += count;
  runs->expected.work += (double)count * (double)run->num_iterations * cost(run);
}

/* What was there before, or came from an archive, is done but says nothing of how fast it goes. */
study_progress study_progress_of(const study_runs *runs, double now)
{
  double all = runs->expected.work, done = 0, done_here = 0, since = INFINITY;
  study_progress p = {
      .count = runs->count + runs->expected.count, .fraction = 1, .seconds_left = NAN};
  for (size_t i = 0; i < runs->count; i++) {
    const study_run *r = &runs->runs[i];
    const bool ended = study_run_ended(r);
    const double length = (double)r->run.num_iterations, step_cost = cost(&r->run);
    const double steps = fmin((double)r->course.step, length);
    p.ended += ended;
    all += length * step_cost;
    done += (ended ? length : steps) * step_cost;
    if (r->started == 0) continue;
    done_here += fmax(0, steps - (double)r->steps_before) * step_cost;
    since = fmin(since, r->started);
  }
  if (all > 0) p.fraction = done / all;
  if (done_here > 0) p.seconds_left = (all - done) * (now - since) / done_here;
  return p;
}
