/* unit.h - state in a unit that fits the gradient.
 *
 * A second moment of gradients near 1e-23 is 0 in float, one of gradients near 1e19 is
 * infinite. So a matrix's state is kept in units of 2^unit: a part of degree d holds
 *
 *     (true value) * 2^(-unit d),   and an algorithm works with gain * gradient, gain =
 * 2^-unit.
 *
 * The unit is 0 for gradients with magnitudes from 1e-12 to 1e12, so ordinary training never
 * notices; otherwise it moves in steps of 32, exactly, since it is a power of two.
 */
#ifndef MOUSSE_OPTIM_UNIT_H
#define MOUSSE_OPTIM_UNIT_H

#include "optim/algorithm.h"

/* Chooses the unit for a gradient whose largest magnitude is given and, when it changes,
 * converts the parts. Returns the unit to use from now on. */
int mo_unit_adapt(int unit, float largest, const mo_part *parts, size_t part_count,
                  float *const *state);

float mo_unit_gain(int unit); /* 2^-unit */

#endif
