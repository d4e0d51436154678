/* momentum_law.h - the value 'auto' of mu: a memory that fits the length of the run.
 *
 *     1 / (1 - mu) = 0.4 sqrt(steps), mu at least 0.5 and at most 0.95
 *
 * A momentum of 0.95 averages over 20 steps: nothing in ten thousand, far too long in a hundred.
 * With the learning rate tuned beside it, 0.85 to 0.9 was best in runs of 500 steps and 0.8 in
 * one of 120 (docs/evidence.md); the published 0.95 is reached at 2,500. What lies between is an
 * interpolation; 'mousse reproduce momentum' measures it.
 */
#ifndef MOUSSE_TRAIN_MOMENTUM_LAW_H
#define MOUSSE_TRAIN_MOMENTUM_LAW_H

#include <stdint.h>

double momentum_by_length(int64_t steps);

#endif
