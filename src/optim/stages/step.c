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
 *     free        as it comes
 *     brake       half of U's part along W is left out where it would make W longer
 *     pin         ||W|| - lr <U, W> / ||W||, what it is to first order; then the decay
 *     brake_pin   both
 *     ball        fixed, and lr is the relative change: W <- R (W - lr R U/||U||) / ||.||,
 *                 R = ||W||
 *
 * After the brake, the option floor makes U, or each of its rows, at least floor_target times as
 * long as W, or that row of it. Weights of 0 have neither brake nor pin nor floor, and a ball is
 * that of their first step, whose length says nothing about them.
 *
 * Notes update_rms, the RMS of shape(m, n) U.
 */
#include "base/simd.h"
#include "linalg/vector.h"
#include "optim/stages/options.h"

#include <float.h>
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

/* W <- W keep - step U, or with the decay last (W - step U) rescale keep. */
typedef struct motion {
  double keep, step, rescale;
  bool decay_last;
} motion;

/* With keep only where u and w do not pull apart. */
MO_CLONES(static void move_cautiously(float *restrict w, const float *restrict u, size_t count,
                                      double keep, double step))
{
#pragma omp simd
  for (size_t i = 0; i < count; i++) {
    const double x = (double)w[i], move = step * (double)u[i];
    w[i] = mo_nearest_float((move * x >= 0.0 ? keep : 1.0) * x - move);
  }
}

MO_CLONES(static void decay_cautiously(float *restrict w, const float *restrict u, size_t count,
                                       double keep, double step, double rescale))
{
#pragma omp simd
  for (size_t i = 0; i < count; i++) {
    const double x = (double)w[i], move = step * (double)u[i];
    w[i] = mo_nearest_float((move * x >= 0.0 ? keep : 1.0) * rescale * (x - move));
  }
}

static void move(mo_step *s, const motion *m)
{
  const double after = m->decay_last ? m->rescale * m->keep : 1.0;
  float *w = s->u->value;
  if (s->o->decay != MO_DECAY_CAUTIOUS)
    mo_apply(w, s->x, s->count, m->decay_last ? after : m->keep, m->step * after);
  else if (m->decay_last)
    decay_cautiously(w, s->x, s->count, m->keep, m->step, m->rescale);
  else
    move_cautiously(w, s->x, s->count, m->keep, m->step);
}

/* U <- U - c/2 W, c = <U, W> / ||W||^2, where c < 0. */
static void brake(mo_step *s)
{
  const double squares = mo_sum_squares(s->u->value, s->count);
  const double along = squares > 0.0 ? mo_dot(s->x, s->u->value, s->count) / squares : 0.0;
  if (along < 0.0)
    mo_subtract(mo_step_own(s), s->u->value, s->count, mo_nearest_float(0.5 * along));
}

/* In two where the ratio is beyond float. */
static void stretch(float *row, size_t length, double ratio, double size)
{
  if (ratio > 1e30) {
    mo_scale(row, length, (float)(1.0 / size));
    ratio = fmin(ratio * size, (double)FLT_MAX);
  }
  mo_scale(row, length, (float)ratio);
}

/* Stretches rows of `length`: all of U as one, or each. Returns the factor that is left: one that is
 * next to nothing is taken into U, which would leave float to make up for it. */
static double raise(mo_step *s, size_t length, double factor)
{
  const double left = factor > 0.0 && factor < 1e-20 ? 1.0 : factor;
  for (size_t at = 0; at < s->count; at += length) {
    const double size = sqrt(mo_sum_squares(s->x + at, length)), update = factor * size;
    const double least = s->o->floor_target * sqrt(mo_sum_squares(s->u->value + at, length));
    const bool short_one = update > 0.0 && update < least && size > (double)FLT_MIN;
    const double ratio = short_one ? least / (left * size) : factor != left ? factor : 1.0;
    if (ratio != 1.0) stretch(mo_step_own(s) + at, length, ratio, size);
  }
  return left;
}

/* ||W - step U|| from what is known of both. */
static double norm_after(double weights, double along, double update, double step)
{
  return sqrt(fmax(weights - 2.0 * step * along + step * step * update, 0.0));
}

static void pin(const mo_step *s, motion *m)
{
  const double weights = mo_sum_squares(s->u->value, s->count);
  const double along = mo_dot(s->x, s->u->value, s->count);
  const double after = norm_after(weights, along, mo_sum_squares(s->x, s->count), m->step);
  m->decay_last = true;
  if (weights > 0.0 && after > 0.0)
    m->rescale = fmax(sqrt(weights) - m->step * along / sqrt(weights), 0.0) / after;
}

static void stay_on_ball(const mo_step *s, motion *m)
{
  const double weights = mo_sum_squares(s->u->value, s->count);
  const double update = mo_sum_squares(s->x, s->count);
  if (weights == 0.0 || update == 0.0) return;
  const double along = mo_dot(s->x, s->u->value, s->count);
  const double step = s->o->lr * sqrt(weights / update);
  const double after = norm_after(weights, along, update, step);
  *m = (motion){1.0, step, after > 0.0 ? sqrt(weights) / after : 1.0, true};
}

static void apply(mo_step *s)
{
  const mo_stage_options *o = s->o;
  const int radius = (int)o->radius;
  double factor = mo_shape_scale(o->shape, s->u->shape) * s->factor / s->scale;
  if (radius == MO_RADIUS_BRAKE || radius == MO_RADIUS_BRAKE_PIN) brake(s);
  if (o->floor != MO_FLOOR_NONE)
    factor = raise(s, o->floor == MO_FLOOR_ROW ? s->u->shape.cols : s->count, factor);
  motion m = {keep_of(o), o->lr * factor, 1.0, o->decay == MO_DECAY_AFTER};
  if (radius == MO_RADIUS_PIN || radius == MO_RADIUS_BRAKE_PIN) pin(s, &m);
  if (radius == MO_RADIUS_BALL) stay_on_ball(s, &m);
  move(s, &m);
  if (s->u->telemetry != NULL)
    mo_note(s->u->telemetry, MO_UPDATE_RMS,
            factor * sqrt(mo_sum_squares(s->x, s->count) / (double)s->count));
}

const mo_stage mo_stage_step = {.apply = apply};
