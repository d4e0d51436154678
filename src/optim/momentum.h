/* momentum.h - the heavy-ball average that several algorithms start from. */
#ifndef MOUSSE_OPTIM_MOMENTUM_H
#define MOUSSE_OPTIM_MOMENTUM_H

#include <stdbool.h>
#include <stddef.h>

/* M <- mu M + G. Returns the direction: M itself, or with nesterov mu M + G, written to
 * `ahead` (which may be G). */
const float *mo_momentum(float *momentum, const float *grad, size_t count, double mu,
                         bool nesterov, float *ahead);

#endif
