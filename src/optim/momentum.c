/* momentum.c - the heavy-ball average. */
#include "optim/momentum.h"

#include "base/simd.h"
#include "linalg/vector.h"

/* In double, which costs nothing beside the memory: mu is not rounded. */
MO_CLONES static void accumulate(float *momentum, const float *grad, size_t count, double mu)
{
#pragma omp simd
  for (size_t i = 0; i < count; i++)
    momentum[i] = mo_normal_float(mu * (double)momentum[i] + (double)grad[i]);
}

MO_CLONES static void accumulate_ahead(float *momentum, const float *grad, size_t count,
                                       double mu, float *ahead)
{
#pragma omp simd
  for (size_t i = 0; i < count; i++) {
    const double g = (double)grad[i], m = mu * (double)momentum[i] + g;
    momentum[i] = mo_normal_float(m);
    ahead[i] = mo_normal_float(mu * m + g);
  }
}

const float *mo_momentum(float *momentum, const float *grad, size_t count, double mu,
                         bool nesterov, float *ahead)
{
  if (!nesterov) {
    accumulate(momentum, grad, count, mu);
    return momentum;
  }
  accumulate_ahead(momentum, grad, count, mu, ahead);
  return ahead;
}
