/* step.c - the weights move: decay, the update, and what becomes of their norm.
 *
 *     W <- W keep - lr shape(m, n) U        keep by the option decay:
 *
 *     decoupled      1 - lr weight_decay
 *     corrected      1 - weight_decay lr^2 / lr_peak
 *     independent    1 - weight_decay lr / lr_peak
 *     cautious       as decoupled, but only where U and W have the same sign, or one is 0
 *
 * and ||W|| by the option radius:
 *
 *     free     as it comes
 *     brake    half of U's part along W is left out where it would make W longer
 *     pin      ||W|| - lr <U, W> / ||W||, what it is to first order; then the decay
 *     ball     fixed, and lr is the relative change: W <- R (W - lr R U/||U||) / ||.||, R = ||W||
 *
 * Notes update_rms, the RMS of shape(m, n) U.
 */
#include "base/simd.h"
#include "linalg/vector.h"
#include "optim/stages/options.h"

#include <math.h>

static double keep_of(const mo_stage_options *o)
{
  const double peak = o->lr_peak > 0.0 ? o->lr_peak : o->lr;
  switch ((int)o->decay) {
  case MO_DECAY_CORRECTED:
    return peak > 0.0 ? 1.0 - o->weight_decay * o->lr * o->lr / peak : 1.0;
  case MO_DECAY_INDEPENDENT:
    return peak > 0.0 ? 1.0 - o->weight_decay * o->lr / peak : 1.0;
  default:
    return 1.0 - o->lr * o->weight_decay;
  }
}

/* w = w keep - step u, with keep only where u and w do not pull apart. */
MO_CLONES static void apply_cautiously(float *restrict w, const float *restrict u, size_t count,
                                       double keep, double step)
{
#pragma omp simd
  for (size_t i = 0; i < count; i++) {
    const double x = (double)w[i], move = step * (double)u[i];
    w[i] = mo_nearest_float((move * x >= 0.0 ? keep : 1.0) * x - move);
  }
}

static void move(mo_step *s, double keep, double step)
{
  if (s->o->decay == MO_DECAY_CAUTIOUS)
    apply_cautiously(s->u->value, s->x, s->count, keep, step);
  else
    mo_apply(s->u->value, s->x, s->count, keep,
             s->o->decay == MO_DECAY_AFTER ? step * keep : step);
}

static void scale_weights(mo_step *s, double factor)
{
  for (size_t i = 0; i < s->count; i++)
    s->u->value[i] = mo_nearest_float(factor * (double)s->u->value[i]);
}

/* The part of W that the brake adds to what is kept of it: U - c/2 W instead of U, c < 0. */
static double brake(const mo_step *s, double step)
{
  const double squares = mo_sum_squares(s->u->value, s->count);
  const double along = squares > 0.0 ? mo_dot(s->x, s->u->value, s->count) / squares : 0.0;
  return fmin(0.5 * step * along, 0.0);
}

static void move_pinned(mo_step *s, double keep, double step)
{
  const double before = sqrt(mo_sum_squares(s->u->value, s->count));
  const double along = mo_dot(s->x, s->u->value, s->count);
  mo_apply(s->u->value, s->x, s->count, 1.0, step);
  const double after = sqrt(mo_sum_squares(s->u->value, s->count));
  const double radius = before > 0.0 ? before - step * along / before : after;
  if (after > 0.0) scale_weights(s, keep * fmax(radius, 0.0) / after);
}

static void move_on_ball(mo_step *s, double keep, double step)
{
  const double radius = sqrt(mo_sum_squares(s->u->value, s->count));
  const double length = sqrt(mo_sum_squares(s->x, s->count));
  if (radius == 0.0 || length == 0.0) {
    move(s, keep, step);
    return;
  }
  mo_apply(s->u->value, s->x, s->count, 1.0, s->o->lr * radius / length);
  const double after = sqrt(mo_sum_squares(s->u->value, s->count));
  if (after > 0.0) scale_weights(s, radius / after);
}

static void apply(mo_step *s)
{
  const mo_stage_options *o = s->o;
  const double factor = mo_shape_scale(o->shape, s->u->shape) * s->factor / s->scale;
  const double keep = keep_of(o), step = o->lr * factor;
  switch ((int)o->radius) {
  case MO_RADIUS_BRAKE:
    move(s, keep + brake(s, step), step);
    break;
  case MO_RADIUS_PIN:
    move_pinned(s, keep, step);
    break;
  case MO_RADIUS_BALL:
    move_on_ball(s, keep, step);
    break;
  default:
    move(s, keep, step);
  }
  if (s->u->telemetry != NULL)
    mo_note(s->u->telemetry, MO_UPDATE_RMS,
            factor * sqrt(mo_sum_squares(s->x, s->count) / (double)s->count));
}

const mo_stage mo_stage_step = {.apply = apply};
