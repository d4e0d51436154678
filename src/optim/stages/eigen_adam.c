/* eigen_adam.c - Adam in the eigenbasis of the statistics, its first moment included.
 *
 *     first step: L = (1 - beta) G G^T, R likewise; Q_L, Q_R their eigenvectors; no update
 *     then with t = 1, 2, ...:
 *         G' = Q_L^T G Q_R
 *         m <- mu m + (1 - mu) G'       v <- beta2 v + (1 - beta2) G'^2    (element-wise)
 *         U = sqrt(1 - beta2^t)/(1 - mu^t) Q_L (m / (sqrt(v) + eps)) Q_R^T
 *     after the step:
 *         L <- beta L + (1 - beta) G G^T,   R likewise
 *         every refresh_every steps: Q moves (eigen.h); v is permuted with its columns, m is
 *         carried over through the original space
 *
 * The basis moves after the step, so that a gradient never meets a basis made from itself. A
 * basis is stored with eigenvectors as rows, v as its root (averages.h).
 */
#include "base/simd.h"
#include "linalg/vector.h"
#include "optim/averages.h"
#include "optim/eigenbasis.h"
#include "optim/stages/eigen.h"
#include "optim/stages/kron.h"

#include <float.h>
#include <math.h>

enum { FIRST, ROOT_SECOND, BASIS, ARRAYS = BASIS + MO_EIGENBASIS_ARRAYS };

static size_t layout(const mo_stage_options *o, mo_shape shape, mo_state_array *arrays)
{
  arrays[FIRST] = (mo_state_array){"first_moment", mo_elements(shape), 1, {0}};
  arrays[ROOT_SECOND] = (mo_state_array){"root_second_moment", mo_elements(shape), 1, {0}};
  mo_eigenbasis_layout(mo_kron_side(o, shape, false), mo_kron_side(o, shape, true),
                       arrays + BASIS);
  return ARRAYS;
}

/* m / (sqrt(v) + eps). Adam's own quotient is of order 1, but a move of the basis can leave m
 * where v is nearly 0: rounding takes 1e-7 of the largest m to everywhere, so that sqrt(v) is
 * known to no less than that, and there is a last limit. */
MO_CLONES(static void quotients(size_t count, const float *restrict first,
                                const float *restrict root, double eps, double floor,
                                float *restrict quotient))
{
  const double limit = 1e3;
#pragma omp simd
  for (size_t i = 0; i < count; i++) {
    const double r = (double)root[i], known = r > floor ? r : floor;
    const double q = (double)first[i] / (known + eps);
    const double below = q < limit ? q : limit;
    quotient[i] = (float)(below > -limit ? below : -limit);
  }
}

static void adam(mo_step *s, const float *rotated, float *quotient)
{
  const mo_stage_options *o = s->o;
  float *first = s->state[FIRST], *root = s->state[ROOT_SECOND];
  mo_average(first, rotated, s->count, o->mu);
  mo_average_root(root, rotated, s->count, o->beta2);
  quotients(s->count, first, root, o->eps * s->scale,
            4.0 * (double)FLT_EPSILON * (double)mo_largest(first, s->count), quotient);
}

static void apply(mo_step *s)
{
  const mo_eigenbasis b = mo_eigen_basis(s, BASIS);
  const mo_stage_options *o = s->o;
  if (mo_first(s->u)) {
    s->skip = true;
    return;
  }
  const uint64_t t = s->u->step - 1; /* the first call only made the basis */
  float *rotated = mo_step_buffer(s), *half = mo_step_buffer_beside(s, rotated);
  mo_eigenbasis_rotate(&b, MO_PLAIN, s->x, half, rotated);
  adam(s, rotated, half);
  s->x = mo_eigenbasis_rotate(&b, MO_TRANSPOSED, half, rotated, half);
  s->scale = 1.0;
  s->factor *= mo_bias_correction(o->bias_correction, o->mu, t) /
               sqrt(mo_bias_correction(o->bias_correction, o->beta2, t));
}

static void finish(mo_step *s)
{
  const mo_eigenbasis b = mo_eigen_basis(s, BASIS);
  const mo_stage_options *o = s->o;
  const bool carried = !mo_first(s->u); /* there is a basis to carry it over from */
  float *original = s->buffers[0], *half = s->buffers[1], *first = s->state[FIRST];
  mo_eigenbasis_average(&b, s->grad, mo_stats_beta(o), s->u->step);
  if (!mo_eigen_due(s)) return;
  if (carried) mo_eigenbasis_rotate(&b, MO_TRANSPOSED, first, half, original);
  mo_eigen_renew(s, &b, MO_BASIS_MOVE, s->state[ROOT_SECOND]);
  if (carried) mo_eigenbasis_rotate(&b, MO_PLAIN, original, half, first);
}

const mo_stage mo_stage_eigen_adam = {.layout = layout,
                                      .work_floats = mo_eigen_work_floats,
                                      .flops = mo_eigen_flops,
                                      .apply = apply,
                                      .finish = finish};
