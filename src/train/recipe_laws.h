/* recipe_laws.h - the value 'auto' of options: numbers that fit the length of a run and its batch.
 *
 *     momentum        1 / (1 - mu)    = 0.4 sqrt(steps), mu from 0.5 to 0.95
 *     Lion's memory   1 / (1 - beta2) = 1.1 sqrt(steps), beta2 from 0.8 to 0.98
 *     learning rate   0.11 sqrt(tokens per step / 8192), at most 0.11; in runs of more than 2,000
 *                     steps less, with the root of their length; at least 0.02
 *
 * A momentum of 0.95 averages over 20 steps: nothing in ten thousand, far too long in a hundred,
 * and so with the 50 steps of Lion, which trains embedding and head. With learning rate and
 * momentum tuned together Muon was best with 0.8, 0.9 and 0.95 in runs of 128, 512 and 1,536
 * steps; whoever trains with Lion was best with 0.96 at 512. The learning rate 0.113 was within
 * 0.003 nats of Muon's best at those three lengths, with four times the batch, and at 96 wide;
 * with an eighth of the batch and 256 wide 0.04 was best of three (docs/evidence.md). Wider models were
 * not measured: they keep the optimizer's own learning rate. The other ends of the ranges are the
 * library's defaults, and what lies between is an interpolation.
 */
#ifndef MOUSSE_TRAIN_RECIPE_LAWS_H
#define MOUSSE_TRAIN_RECIPE_LAWS_H

#include <stdint.h>

enum { RATE_WIDEST = 256 }; /* up to which rate_by_batch was measured */

double momentum_by_length(int64_t steps);
double lion_beta2_by_length(int64_t steps);
double rate_by_batch(double tokens_per_step, int64_t steps);

#endif
