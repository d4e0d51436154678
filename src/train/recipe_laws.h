/* recipe_laws.h - the value 'auto' of options: numbers that fit the width of a model and the length
 * of a run.
 *
 *     learning rate   0.9 / sqrt(width), at most 0.11; in runs of more than 2,000 steps less, with
 *                     the root of their length; at least 0.02
 *     momentum        1 / (1 - mu)    = 0.4 sqrt(steps), mu from 0.5 to 0.95
 *     Lion's memory   1 / (1 - beta2) = 1.1 sqrt(steps), beta2 from 0.8 to 0.98
 *
 * A momentum of 0.95 averages over 20 steps: nothing in ten thousand, far too long in a hundred,
 * and so with the 50 steps of Lion, which trains embedding and head. What they were measured with
 * is in docs/evidence.md ("The recipe's laws"): widths of 64 to 256, 120 to 1,536 steps. The far
 * ends are the library's defaults, and what lies between is an interpolation.
 */
#ifndef MOUSSE_TRAIN_RECIPE_LAWS_H
#define MOUSSE_TRAIN_RECIPE_LAWS_H

#include <stddef.h>
#include <stdint.h>

double rate_by_width(size_t width, int64_t steps);
double momentum_by_length(int64_t steps);
double lion_beta2_by_length(int64_t steps);

#endif
