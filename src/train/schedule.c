/* schedule.c - the schedule of the learning rate. */
#include "train/schedule.h"

#include <math.h>

/* 0.29 * 100 is 28.999999999999996: the small addition makes it the 29 that was meant. */
static uint64_t part(double ratio, uint64_t steps)
{
  return (uint64_t)floor(ratio * (double)steps + 1e-6);
}

train_schedule schedule_make(schedule_kind course, uint64_t steps, double warmup_ratio,
                             double decay_ratio)
{
  return (train_schedule){course, steps, part(warmup_ratio, steps), part(decay_ratio, steps)};
}

double schedule_factor(const train_schedule *s, uint64_t step)
{
  static const double pi = 3.14159265358979323846;
  if (step < s->warmup) return (double)(step + 1) / (double)s->warmup;
  if (step >= s->steps) return s->course == TRAIN_CONSTANT ? 1 : 0;
  if (s->course == TRAIN_COSINE)
    return 0.5 * (1 + cos(pi * (double)(step - s->warmup) / (double)(s->steps - s->warmup)));
  if (s->course == TRAIN_WSD && step + s->decay >= s->steps)
    return (double)(s->steps - step) / (double)s->decay;
  return 1;
}
