/* norm.c - the norm of the update, by rule.
 *
 *     keep        as it comes
 *     sqrt_min    sqrt(min(m, n)), that of an orthogonal matrix
 *     sqrt_rows   sqrt(m)
 *     rms         0.2 sqrt(m n): an RMS of 0.2, like AdamW's
 *     relative    ||W||: lr is the relative change of the weights; weights of 0, which would
 *                 stay so, begin as with keep
 *     nuclear     times <X, O>, the nuclear norm of what was orthogonalised, of a momentum as an
 *                 average: the update of PolarGrad, which ends with the gradient; with ortho =
 *                 none as it comes
 */
#include "linalg/vector.h"
#include "optim/stages/options.h"

#include <math.h>

static double wanted_norm(const mo_step *s)
{
  const mo_shape shape = s->u->shape;
  switch ((int)s->o->norm) {
  case MO_NORM_SQRT_MIN:
    return sqrt((double)mo_shorter(shape));
  case MO_NORM_SQRT_ROWS:
    return sqrt((double)shape.rows);
  case MO_NORM_RMS:
    return 0.2 * sqrt((double)s->count);
  default:
    return sqrt(mo_sum_squares(s->u->value, s->count));
  }
}

static void apply(mo_step *s)
{
  if (s->o->norm == MO_NORM_KEEP) return;
  if (s->o->norm == MO_NORM_NUCLEAR) {
    s->factor *= s->nuclear;
    return;
  }
  const double norm = sqrt(mo_sum_squares(s->x, s->count)), wanted = wanted_norm(s);
  if (wanted == 0.0) return;
  s->scale = 1.0;
  s->factor = norm > 0.0 ? wanted / norm : 0.0;
}

const mo_stage mo_stage_norm = {.apply = apply};
