/* schedule.h - the factor that multiplies every group's learning rate, by step.
 *
 * N steps, it = 0 .. N-1, w = warm-up steps, d = steps of decay:
 *
 *     cosine     (it+1)/w while it < w, then (1 + cos(pi (it-w)/(N-w)))/2
 *     wsd        (it+1)/w while it < w, then 1, then (N-it)/d in the last d steps
 *     constant   (it+1)/w while it < w, then 1
 */
#ifndef MOUSSE_TRAIN_SCHEDULE_H
#define MOUSSE_TRAIN_SCHEDULE_H

#include <stdint.h>

typedef enum schedule_kind { TRAIN_COSINE, TRAIN_WSD, TRAIN_CONSTANT } schedule_kind;

typedef struct train_schedule {
  schedule_kind course;
  uint64_t steps, warmup, decay;
} train_schedule;

/* Ratios are parts of the steps; whole steps, rounded down. */
train_schedule schedule_make(schedule_kind course, uint64_t steps, double warmup_ratio,
                             double decay_ratio);
double schedule_factor(const train_schedule *schedule, uint64_t step);

#endif
