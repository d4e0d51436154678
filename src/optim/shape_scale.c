/* shape_scale.c - the factor between an orthogonalised update and the step. */
#include "optim/shape_scale.h"

#include <math.h>

const char *const mo_shape_rule_names[5] = {"spectral", "rms", "jordan", "none", NULL};

double mo_shape_scale(double rule, mo_shape shape)
{
  const double rows = (double)shape.rows, cols = (double)shape.cols;
  switch ((int)rule) {
  case MO_SHAPE_SPECTRAL:
    return sqrt(rows / cols);
  case MO_SHAPE_RMS:
    return 0.2 * sqrt(fmax(rows, cols));
  case MO_SHAPE_JORDAN:
    return sqrt(fmax(1.0, rows / cols));
  default:
    return 1.0;
  }
}
