/* alarms.h - what somebody who watches a run should be told, once each:
 *
 *     diverged   ten losses in a row are more than 1 nat above the larger of ln V and the first
 *     stuck      after the warm-up fifty losses in a row are within 1% of ln V, which is what
 *                equal probabilities for all V tokens give
 *     dead       the gradient was exactly 0 three times in a row
 */
#ifndef MOUSSE_TRAIN_ALARMS_H
#define MOUSSE_TRAIN_ALARMS_H

#include "train/metrics.h"

typedef struct run_alarms {
  double uniform, first; /* ln V, and the first loss seen; NaN: none yet */
  uint64_t warmup;
  unsigned high, uniform_like, dead; /* how many in a row */
  bool told_diverged, told_stuck, told_dead;
} run_alarms;

run_alarms alarms_start(size_t vocabulary, uint64_t warmup_steps);
void alarms_step(run_alarms *alarms, const step_report *report, const run_notices *notices);

#endif
