/* eigen_rms.c - SOAP-Muon's inner preconditioner: the momentum over its RMS, in the eigenbasis.
 *
 *     t > 1:  Z = Q_L^T X0 Q_R      v <- beta2 v + (1 - beta2) Z^2
 *             X = Q_L [ Z / sqrt(max(v, e)) ] Q_R^T                     t = 1: X = X0
 *     after the step: L <- beta L + (1 - beta) G G^T, R likewise; every refresh_every steps Q
 *             moves, and v with its columns (eigenbasis.h)
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

MO_CLONES static void divide(float *restrict x, const float *restrict root, size_t count,
                             double floor)
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

static void apply(mo_step *s)
{
  if (s->u->step == 1) return;
  const mo_eigenbasis b = mo_eigen_basis(s, BASIS);
  float *z = mo_step_buffer(s), *half = mo_step_buffer_beside(s, z);
  mo_eigenbasis_rotate(&b, MO_PLAIN, s->x, half, z);
  /* v is of gradients; x may have been brought to another scale on the way. */
  if (s->scale != (double)s->u->grad_scale)
    mo_scale(z, s->count, (float)((double)s->u->grad_scale / s->scale));
  mo_average_root(s->state[ROOT_SECOND], z, s->count, s->o->beta2);
  divide(z, s->state[ROOT_SECOND], s->count, floor_of(s, z, s->state[ROOT_SECOND]));
  mo_eigenbasis_rotate(&b, MO_TRANSPOSED, z, half, z);
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
                                     .work_floats = mo_eigen_work_floats,
                                     .flops = mo_eigen_flops,
                                     .apply = apply,
                                     .finish = finish};
