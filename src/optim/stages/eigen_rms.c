/* eigen_rms.c - SOAP-Muon's inner preconditioner: the momentum over its RMS, in the eigenbasis.
 *
 *     t > 1:  Z = Q_L^T X0 Q_R      v <- beta2 v + (1 - beta2) Z^2
 *             X = Q_L [ Z / sqrt(max(v, e)) ] Q_R^T                     t = 1: X = X0
 *     after the step: L <- beta L + (1 - beta) G G^T, R likewise; every refresh_every steps Q
 *             moves, and v with its columns (eigenbasis.h), by QR and by eigh alike
 *
 * gate: Y = X ||X0||_4 / ||X||_4, then X = X0 + g (Y - X0) with the norm ||X0||_4 (Schatten 4),
 *             g = clip((cos(Y, X0) - 0.2) / 0.8) clip(cos(Y, G) / cos(X0, G)), both to [0, 1], and
 *             g itself to [gate_floor, gate_cap]
 *
 * floors relative: e = eps mean(v), absolute: e = eps. A projection in float carries 1e-7 of the
 * largest element to all others; sqrt(v) is not taken to be less than 64 times that.
 */
#include "base/simd.h"
#include "linalg/vector.h"
#include "optim/averages.h"
#include "optim/stages/eigen.h"
#include "optim/stages/kron.h"

#include <float.h>
#include <math.h>

enum { ROOT_SECOND, BASIS, ARRAYS = BASIS + MO_EIGENBASIS_ARRAYS };

static size_t layout(const mo_stage_options *o, mo_shape shape, mo_state_array *arrays)
{
  arrays[ROOT_SECOND] = (mo_state_array){"root_second_moment", mo_elements(shape), 1, {0}};
  mo_eigenbasis_layout(mo_kron_side(o, shape, false), mo_kron_side(o, shape, true),
                       arrays + BASIS);
  return ARRAYS;
}

MO_CLONES(static void divide_by_root(float *restrict x, const float *restrict root,
                                     size_t count, double floor))
{
#pragma omp simd
  for (size_t i = 0; i < count; i++) {
    const double r = (double)root[i], divisor = r > floor ? r : floor;
    x[i] = r > 0.0 ? (float)((double)x[i] / divisor) : 0.0f;
  }
}

/* The least that sqrt(v) is taken to be. */
static double floor_of(const mo_step *s, const float *z, const float *root)
{
  const mo_stage_options *o = s->o;
  const double known = 64.0 * (double)FLT_EPSILON * (double)mo_largest(z, s->count);
  const double unit = o->floors == MO_FLOORS_ABSOLUTE
                          ? (double)s->u->grad_scale
                          : sqrt(mo_sum_squares(root, s->count) / (double)s->count);
  return fmax(known, sqrt(o->eps) * unit);
}

static size_t work_floats(const mo_stage_options *o, mo_shape shape)
{
  const size_t n = mo_shorter(shape), gram = o->gate != 0.0 ? mo_scratch_floats(n * n) : 0;
  return mo_larger(mo_eigen_work_floats(o, shape), gram);
}

static double unit(double x)
{
  return fmin(fmax(x, 0.0), 1.0);
}

/* <x, y> over both norms; 0 when one is 0. */
static double cosine(const float *x, const float *y, size_t count)
{
  const double norms = sqrt(mo_sum_squares(x, count)) * sqrt(mo_sum_squares(y, count));
  return norms > 0.0 ? mo_dot(x, y, count) / norms : 0.0;
}

static double gate_of(const mo_step *s, const float *y)
{
  const double agrees = cosine(y, s->x, s->count), steeper = cosine(y, s->grad, s->count);
  const double before = fmax(cosine(s->x, s->grad, s->count), 1e-8);
  const double gate = unit((agrees - 0.2) / 0.8) * unit(steeper / before);
  return fmin(fmax(gate, s->o->gate_floor), s->o->gate_cap);
}

/* y = length / ||.||_4 of (1 - gate) x + gate y, y first brought to that length. */
static void mix(mo_step *s, float *y)
{
  const mo_shape shape = s->u->shape;
  const double length = mo_schatten4_norm(shape, s->x, s->work);
  const double own = mo_schatten4_norm(shape, y, s->work), gate = gate_of(s, y);
  if (length == 0.0 || own == 0.0) return;
  mo_scale(y, s->count, (float)(gate * length / own));
  mo_subtract(y, s->x, s->count, (float)(gate - 1.0));
  const double mixed = mo_schatten4_norm(shape, y, s->work);
  if (mixed > 0.0) mo_scale(y, s->count, (float)(length / mixed));
}

static void apply(mo_step *s)
{
  if (mo_first(s->u)) return;
  const mo_eigenbasis b = mo_eigen_basis(s, BASIS);
  float *z = mo_step_buffer(s), *half = mo_step_buffer_beside(s, z);
  mo_eigenbasis_rotate(&b, MO_PLAIN, s->x, half, z);
  /* v is of gradients; x may have been brought to another scale on the way. */
  if (s->scale != (double)s->u->grad_scale)
    mo_scale(z, s->count, (float)((double)s->u->grad_scale / s->scale));
  mo_average_root(s->state[ROOT_SECOND], z, s->count, s->o->beta2);
  divide_by_root(z, s->state[ROOT_SECOND], s->count, floor_of(s, z, s->state[ROOT_SECOND]));
  if (s->o->gate == 0.0 && mo_orthogonal_leaves_basis(s->o, s->u->shape))
    s->inside = s->state + BASIS;
  else
    z = mo_eigenbasis_rotate(&b, MO_TRANSPOSED, z, half, z);
  if (s->o->gate != 0.0) {
    mix(s, z);
    s->x = z;
    return;
  }
  /* X has the norm of x, so that what comes next fades with the gradient as Muon does. */
  const double before = mo_sum_squares(s->x, s->count), after = mo_sum_squares(z, s->count);
  s->scale = before > 0.0 && after > 0.0 ? s->scale * sqrt(after / before) : 1.0;
  s->x = z;
}

static void finish(mo_step *s)
{
  const mo_eigenbasis b = mo_eigen_basis(s, BASIS);
  mo_eigenbasis_average(&b, s->grad, mo_stats_beta(s->o), s->u->step);
  mo_eigen_renew(s, &b, MO_BASIS_MOVE, s->state[ROOT_SECOND]);
}

const mo_stage mo_stage_eigen_rms = {.layout = layout,
                                     .work_floats = work_floats,
                                     .flops = mo_eigen_flops,
                                     .apply = apply,
                                     .finish = finish};
