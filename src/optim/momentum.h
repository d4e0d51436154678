/* momentum.h - the heavy-ball momentum that several algorithms start from. */
#ifndef MOUSSE_OPTIM_MOMENTUM_H
#define MOUSSE_OPTIM_MOMENTUM_H

#include <stdbool.h>
#include <stddef.h>

/* M <- mu M + add G. Returns the direction: M itself, or with nesterov mu M + add G, written to
 * `ahead` (which may be G). add is 1 for a sum, 1 - mu for an average. */
const float *mo_momentum(float *momentum, const float *grad, size_t count, double mu,
                         double add, bool nesterov, float *ahead);

#endif
