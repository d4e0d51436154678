/* scalar.c - NAMO's scaling after the orthogonaliser: one number for the whole matrix.
 *
 *     v <- beta2 v + (1 - beta2) ||G||^2      U = N ||X0|| / (sqrt(v) + eps2)
 *
 * X0 is the momentum as an average, before any inner preconditioner. So the step is long where
 * gradients agree over time, and ends with them. What was not orthogonalised is divided by its own
 * norm first: without an inner preconditioner U = X0 / (sqrt(v) + eps2). bias_correction:
 * ||X0|| / (1 - mu^t) and v / (1 - beta2^t). v is kept as its root (averages.h).
 */
#include "linalg/vector.h"
#include "optim/averages.h"
#include "optim/stages/options.h"

#include <math.h>

static size_t layout(const mo_stage_options *o, mo_shape shape, mo_state_array *arrays)
{
  (void)o, (void)shape;
  arrays[0] = (mo_state_array){"root_norm_moment", 1, 1, {0}};
  return 1;
}

/* What N still has of a norm. */
static double own_norm(const mo_step *s)
{
  return s->o->ortho == MO_ORTHO_OFF ? sqrt(mo_sum_squares(s->x, s->count)) / s->scale : 1.0;
}

static void apply(mo_step *s)
{
  const mo_stage_options *o = s->o;
  const uint64_t t = s->u->step;
  const float norm = (float)sqrt(mo_sum_squares(s->grad, s->count));
  mo_average_root(s->state[0], &norm, 1, o->beta2);
  const double root = (double)s->state[0][0] / (double)s->u->grad_scale *
                      sqrt(mo_bias_correction(o->bias_correction, o->beta2, t));
  const double divisor = root + o->eps2, own = own_norm(s);
  s->factor *=
      divisor > 0.0 && own > 0.0
          ? s->momentum_norm / own * mo_bias_correction(o->bias_correction, o->mu, t) / divisor
          : 0.0;
}

const mo_stage mo_stage_scalar = {.layout = layout, .apply = apply};
