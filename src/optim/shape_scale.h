/* shape_scale.h - the factor between an orthogonalised update and the step, by matrix shape.
 *
 *     spectral  sqrt(m/n)             the operator norm that keeps features of order 1
 *     rms       0.2 sqrt(max(m, n))   an RMS like AdamW's, whose learning rates carry over
 *     jordan    sqrt(max(1, m/n))     the rule of the original Muon
 *     none      1
 */
#ifndef MOUSSE_OPTIM_SHAPE_SCALE_H
#define MOUSSE_OPTIM_SHAPE_SCALE_H

#include "optim/algorithm.h"

extern const char *const mo_shape_rule_names[5];
enum { MO_SHAPE_SPECTRAL, MO_SHAPE_RMS, MO_SHAPE_JORDAN, MO_SHAPE_NONE };

double mo_shape_scale(double rule, mo_shape shape);

#endif
