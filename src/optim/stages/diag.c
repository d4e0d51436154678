/* diag.c - an inner preconditioner for each element: the diagonal geometry of Muon^2, and with
 * `outer` of the Mousse paper's appendix A.1.
 *
 *     v <- beta2 v + (1 - beta2) G^2
 *     X = X0 / D      D = v^alpha + e, e = eps (floors absolute), eps mean(v^alpha) (relative), or
 *                     with outer eps_rel mean(v^alpha)
 *     again, for outer: U = N / D
 *
 * With outer an element is divided by D twice: the relative floor keeps dead ones from that. v
 * is kept as its root (averages.h).
 */
#include "base/simd.h"
#include "linalg/vector.h"
#include "optim/averages.h"
#include "optim/stages/options.h"

#include <math.h>

static size_t layout(const mo_stage_options *o, mo_shape shape, mo_state_array *arrays)
{
  (void)o;
  arrays[0] = (mo_state_array){"root_second_moment", mo_elements(shape), 1, {0}};
  return 1;
}

/* v^alpha of the true gradients; alpha is nearly always 1/2. */
static double power_of(double root, double alpha)
{
  return alpha == 0.5 ? root : pow(root, 2.0 * alpha);
}

static double mean_power(size_t count, const float *root, double unscale, double alpha)
{
  double sum = 0.0;
  for (size_t i = 0; i < count; i++) sum += power_of(unscale * (double)root[i], alpha);
  return sum / (double)count;
}

MO_CLONES(static void divide_scaled(float *restrict y, const float *restrict x,
                                    const float *restrict root, size_t count, double factor,
                                    double unscale, double floor))
{
#pragma omp simd
  for (size_t i = 0; i < count; i++) {
    const double d = unscale * (double)root[i] + floor;
    y[i] = d > 0.0 ? mo_nearest_float(factor * (double)x[i] / d) : 0.0f;
  }
}

static void divide_by_powers(float *y, const float *x, const float *root, size_t count,
                             double factor, double unscale, double floor, double alpha)
{
  for (size_t i = 0; i < count; i++) {
    const double d = power_of(unscale * (double)root[i], alpha) + floor;
    y[i] = d > 0.0 ? mo_nearest_float(factor * (double)x[i] / d) : 0.0f;
  }
}

/* What is added to v^alpha. */
static double floor_of(const mo_stage_options *o, size_t count, const float *root,
                       double unscale)
{
  const double part = o->outer != 0.0 ? o->eps_rel : o->eps;
  const bool relative = o->outer != 0.0 || o->floors == MO_FLOORS_RELATIVE;
  return relative ? part * mean_power(count, root, unscale, o->alpha) : part;
}

/* s->x / D; what comes out is on the scale of the formulas. */
static void divided(mo_step *s, const float *root)
{
  const mo_stage_options *o = s->o;
  const double unscale = 1.0 / (double)s->u->grad_scale;
  const double floor = floor_of(o, s->count, root, unscale);
  float *y = mo_step_buffer(s);
  if (o->alpha == 0.5)
    divide_scaled(y, s->x, root, s->count, 1.0 / s->scale, unscale, floor);
  else
    divide_by_powers(y, s->x, root, s->count, 1.0 / s->scale, unscale, floor, o->alpha);
  s->x = y;
  s->scale = 1.0;
}

static void apply(mo_step *s)
{
  mo_average_root(s->state[0], s->grad, s->count, s->o->beta2);
  divided(s, s->state[0]);
}

static void again(mo_step *s)
{
  divided(s, s->inner_state[0]);
}

const mo_stage mo_stage_diag = {.layout = layout, .apply = apply, .again = again};
