/* averages.c - moving averages in double, stored as floats. */
#include "optim/averages.h"

#include "base/simd.h"
#include "linalg/vector.h"

#include <math.h>

MO_CLONES(void mo_average(float *restrict mean, const float *restrict x, size_t count,
                          double beta))
{
  const double add = 1.0 - beta;
#pragma omp simd
  for (size_t i = 0; i < count; i++)
    mean[i] = mo_normal_float(beta * (double)mean[i] + add * (double)x[i]);
}

MO_CLONES(void mo_average_root(float *restrict root, const float *restrict x, size_t count,
                               double beta))
{
  const double add = 1.0 - beta;
#pragma omp simd
  for (size_t i = 0; i < count; i++) {
    const double r = (double)root[i], g = (double)x[i];
    root[i] = mo_normal_float(sqrt(beta * r * r + add * g * g));
  }
}

mo_split mo_split_beta(double beta)
{
  const float high = (float)beta;
  return (mo_split){high, (float)(beta - (double)high), (float)(1.0 - beta)};
}

float mo_float_beta(double beta, uint64_t step)
{
  const float nearest = (float)beta;
  const float low = (double)nearest <= beta ? nearest : nextafterf(nearest, 0.0f);
  const double above = beta - (double)low;
  if (above <= 0.0) return low;
  const float high = nextafterf(low, 1.0f);
  /* The larger one in this part of the steps, evenly. In double, good for 1e8 steps and more:
   * what is beyond matters less and less. */
  const double part = above / ((double)high - (double)low), t = (double)step;
  return floor(t * part) > floor((t - 1.0) * part) ? high : low;
}

double mo_bias_correction(double wanted, double beta, uint64_t step)
{
  return wanted != 0.0 ? 1.0 / (1.0 - pow(beta, (double)step)) : 1.0;
}
