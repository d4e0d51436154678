/* moments.c - the norm of a simpler method's step, for graft.c: for preconditioners whose own
 * scale means little. Comes between the momentum x and the preconditioner.
 *
 *     v <- beta2 v + (1 - beta2) G^2
 *     adam   || (x / (1 - mu^t)) / (sqrt(v / (1 - beta2^t)) + 1e-8) ||
 *     sgd    || x / (1 - mu^t) ||
 *     none   the update keeps its own norm, x / (1 - mu^t) preconditioned
 *
 * v is kept for adam only, as its root (averages.h).
 */
#include "linalg/vector.h"
#include "optim/averages.h"
#include "optim/stages/options.h"

#include <math.h>

static size_t layout(const mo_stage_options *o, mo_shape shape, mo_state_array *arrays)
{
  const size_t count = o->graft == MO_MOMENT_ADAM ? mo_elements(shape) : 0;
  arrays[0] = (mo_state_array){"root_second_moment", count, 1, {0}};
  return 1;
}

static double adam_norm(size_t count, const float *first, const float *root, double correct1,
                        double root_correction, double eps)
{
  double squares = 0.0;
  for (size_t i = 0; i < count; i++) {
    const double step = correct1 * (double)first[i] / (root_correction * (double)root[i] + eps);
    squares += step * step;
  }
  return sqrt(squares);
}

static void apply(mo_step *s)
{
  const mo_stage_options *o = s->o;
  const double correct1 = mo_bias_correction(o->bias_correction, o->mu, s->u->step);
  const double correct2 = mo_bias_correction(o->bias_correction, o->beta2, s->u->step);
  if (o->graft == MO_MOMENT_ADAM) {
    mo_average_root(s->state[0], s->grad, s->count, o->beta2);
    s->wanted =
        adam_norm(s->count, s->x, s->state[0], correct1, sqrt(correct2), 1e-8 * s->scale);
  } else if (o->graft == MO_MOMENT_SGD) {
    s->wanted = correct1 * sqrt(mo_sum_squares(s->x, s->count)) / s->scale;
  } else {
    s->factor *= correct1;
  }
}

const mo_stage mo_stage_moments = {.layout = layout, .apply = apply};
