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
#ifndef MOUSSE_OPTIM_GRAD_SCALE_H
#define MOUSSE_OPTIM_GRAD_SCALE_H

#include "optim/algorithm.h"

/* Whether the unit no longer fits a gradient whose largest magnitude is given. */
bool mo_unit_outgrown(int unit, float largest);

/* The largest exponent in the state, counted as that of a gradient. */
int mo_unit_held(int unit, const mo_part *parts, size_t part_count, float *const *state);

/* Converts the parts to the unit that fits such a gradient and what is held, and returns it. */
int mo_unit_change(int unit, float largest, int held, const mo_part *parts, size_t part_count,
                   float *const *state);

float mo_unit_gain(int unit); /* 2^-unit */

#endif
