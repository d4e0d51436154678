/* momentum_law.c - see momentum_law.h. */
#include "train/momentum_law.h"

#include <math.h>

double momentum_by_length(int64_t steps)
{
  const double memory = 0.4 * sqrt((double)steps);
  const double mu = 1 - 1 / fmax(memory, 2);
  return fmin(round(mu * 1000) / 1000, 0.95);
}
