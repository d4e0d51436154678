/* recipe_laws.c - see recipe_laws.h. */
#include "train/recipe_laws.h"

#include <math.h>

/* Three digits: people read it in config.yaml. */
static double decay_of_memory(double memory, double least, double most)
{
  const double decay = 1 - 1 / fmax(memory, 1);
  return fmin(fmax(round(decay * 1000) / 1000, least), most);
}

double momentum_by_length(int64_t steps)
{
  return decay_of_memory(0.4 * sqrt((double)steps), 0.5, 0.95);
}

double lion_beta2_by_length(int64_t steps)
{
  return decay_of_memory(1.1 * sqrt((double)steps), 0.8, 0.98);
}

double rate_by_width(size_t width, int64_t steps)
{
  const double length = fmin(sqrt(2000 / (double)steps), 1);
  const double rate = fmin(0.9 / sqrt((double)width), 0.11) * length;
  return fmax(round(rate * 1000) / 1000, 0.02);
}
