/* momentum.c - the heavy-ball average. */
#include "optim/momentum.h"

#include "base/simd.h"

MO_CLONES static void accumulate(float *momentum, const float *grad, size_t count, float mu)
{
#pragma omp simd
  for (size_t i = 0; i < count; i++) momentum[i] = mu * momentum[i] + grad[i];
}

MO_CLONES static void accumulate_ahead(float *momentum, const float *grad, size_t count,
                                       float mu, float *ahead)
{
#pragma omp simd
  for (size_t i = 0; i < count; i++) {
    const float g = grad[i], m = mu * momentum[i] + g;
    momentum[i] = m;
    ahead[i] = mu * m + g;
  }
}

const float *mo_momentum(float *momentum, const float *grad, size_t count, double mu,
                         bool nesterov, float *ahead)
{
  if (!nesterov) {
    accumulate(momentum, grad, count, (float)mu);
    return momentum;
  }
  accumulate_ahead(momentum, grad, count, (float)mu, ahead);
  return ahead;
}
