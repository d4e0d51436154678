/* momentum.c - the heavy-ball momentum. */
#include "optim/momentum.h"

#include "base/simd.h"
#include "linalg/vector.h"

/* In double, which costs nothing beside the memory: mu is not rounded. */
MO_CLONES(static void accumulate(float *momentum, const float *grad, size_t count, double mu,
                                 double add))
{
#pragma omp simd
  for (size_t i = 0; i < count; i++)
    momentum[i] = mo_normal_float(mu * (double)momentum[i] + add * (double)grad[i]);
}

MO_CLONES(static void accumulate_ahead(float *momentum, const float *grad, size_t count,
                                       double mu, double add, float *ahead))
{
#pragma omp simd
  for (size_t i = 0; i < count; i++) {
    const double g = add * (double)grad[i], m = mu * (double)momentum[i] + g;
    momentum[i] = mo_normal_float(m);
    ahead[i] = mo_normal_float(mu * m + g);
  }
}

const float *mo_momentum(float *momentum, const float *grad, size_t count, double mu,
                         double add, bool nesterov, float *ahead)
{
  if (!nesterov) {
    accumulate(momentum, grad, count, mu, add);
    return momentum;
  }
  accumulate_ahead(momentum, grad, count, mu, add, ahead);
  return ahead;
}
