/* grad_scale.h - state on a scale that fits the gradient.
 *
 * A second moment of gradients near 1e-23 is 0 in float, one of gradients near 1e19 is infinite.
 * So a matrix's state is kept on a scale of 2^scale_exponent: an array of degree d holds
 *
 *     (true value) * 2^(-scale_exponent d)
 *
 * and an algorithm works with grad_scale * gradient, where grad_scale = 2^-scale_exponent.
 *
 * Arrays of degree 0 are left alone: bases, and the state of algorithms that work on each
 * element by itself and take the gradient as it is.
 *
 * The exponent is 0 for gradients with magnitudes from 1e-12 to 1e12, so ordinary training never
 * notices; otherwise it moves in steps of 32, exactly, since the scale is a power of two.
 */
#ifndef MOUSSE_OPTIM_GRAD_SCALE_H
#define MOUSSE_OPTIM_GRAD_SCALE_H

#include "optim/algorithm.h"

/* Whether the scale no longer fits a gradient whose largest magnitude is given. */
bool mo_grad_scale_outgrown(int scale_exponent, float largest);

/* The largest exponent in the state, counted as that of a gradient. */
int mo_grad_scale_held(int scale_exponent, const mo_state_array *arrays, size_t array_count,
                       float *const *state);

/* Converts the arrays to the scale that fits such a gradient and what is held, and returns its
 * exponent. */
int mo_grad_scale_change(int scale_exponent, float largest, int held,
                         const mo_state_array *arrays, size_t array_count, float *const *state);

/* Multiplies every array by 2^(-change degree), as a change of the scale's exponent does. */
void mo_grad_scale_convert(int change, const mo_state_array *arrays, size_t array_count,
                           float *const *state);

bool mo_grad_scale_valid(int64_t scale_exponent); /* one that a change can lead to */

float mo_grad_scale(int scale_exponent); /* 2^-scale_exponent */

#endif
