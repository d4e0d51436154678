/* step.c - the weights move: decay and the update, in one pass.
 *
 *     W <- W (1 - lr weight_decay) - lr shape(m, n) U
 *
 * Notes update_rms, the RMS of shape(m, n) U.
 */
#include "linalg/vector.h"
#include "optim/stages/options.h"

#include <math.h>

static void apply(mo_step *s)
{
  const mo_stage_options *o = s->o;
  const double factor = mo_shape_scale(o->shape, s->u->shape) * s->factor / s->scale;
  const double keep = 1.0 - o->lr * o->weight_decay;
  mo_apply(s->u->value, s->x, s->count, keep,
           o->lr * factor * (o->decay == MO_DECAY_AFTER ? keep : 1.0));
  if (s->u->telemetry != NULL)
    mo_note(s->u->telemetry, MO_UPDATE_RMS,
            factor * sqrt(mo_sum_squares(s->x, s->count) / (double)s->count));
}

const mo_stage mo_stage_step = {.apply = apply};
