/* wrappers.h - what is done to weights around any algorithm, element by element, as options of the
 * optimizer as a whole. w is what the algorithm makes of the weights that the caller sees.
 *
 *     average          e <- w up to step average_from, then e <- e + (w - e) / average_horizon
 *                      evaluate (1 - average_weight) w + average_weight e
 *
 *     wrapper          lookahead (EMA-Nesterov, arXiv:2605.25395): the caller sees x + b d
 *                          x' = w;  d <- g d + (1 - g)(x' - x);  b = lookahead lr_factor
 *                          evaluate x
 *                      schedule_free (arXiv:2405.15682): the caller sees y
 *                          z <- z after the algorithm's step with the gradient at y
 *                          x <- (1 - c) x + c z;  y = (1 - b) z + b x;  evaluate x
 *                          c = w / (sum of w so far),  w = lr^schedule_free_power with the lr of
 *                          the step and of this parameter;  b = schedule_free_beta
 *
 * Where both are on, w of the average is what the wrapper evaluates. Each keeps its arrays in the
 * state, so that saving, loading and ranks follow.
 */
#ifndef MOUSSE_OPTIM_WRAPPERS_H
#define MOUSSE_OPTIM_WRAPPERS_H

#include "optim/optimizer.h"

enum { MO_NO_WRAPPER, MO_LOOKAHEAD, MO_SCHEDULE_FREE };

/* Appends the arrays that the options ask for to the parameter's. */
void mo_wrapper_arrays(const mousse_optimizer *opt, mo_param *param);

/* Elements start .. start + count of the own share. `value` is what the caller sees of them; the
 * algorithm is to update what before returns, and after turns that into what the caller sees. */
float *mo_wrapper_before(const mousse_optimizer *opt, const mo_param *param, size_t start,
                         size_t count, float *value);
void mo_wrapper_after(const mousse_optimizer *opt, const mo_param *param, size_t start,
                      size_t count, float *value);

/* What the present step counts in the average of schedule_free, in the unit of
 * mo_param.weight_sum; 0 without that wrapper. */
double mo_wrapper_weight(const mousse_optimizer *opt, const mo_param *param);

/* Makes our arrays what a first step would: the weights as they are, and no direction. */
void mo_wrapper_begin(mo_param *param);

/* Whether an array of this name is one of ours that a load must find. */
bool mo_wrapper_array(const char *name);

#endif
