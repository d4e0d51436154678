/* fisher.c - FISMO's inner preconditioner: Kronecker factors of the Fisher matrix, each from the
 * gradient whitened by the other.
 *
 *     P = Q = I at first
 *     Lx = G Q^-1 G^T / n     P <- beta P + (1 - beta) (Lx + eps tr(P)/m I), P <- P m / tr(P)
 *     Rx = G^T P^-1 G / m     Q likewise, with the P just made
 *     X = P^-1/2 G Q^-1/2     again, for outer: U = P^-1/2 N Q^-1/2
 *
 * FISMO has its momentum between X and the polar factor, in the whitened space. With the momentum
 * first, as in spectral, the same factors make another method.
 *
 * Roots are renewed every refresh_every steps. trace_norm: Lx and Rx are scaled to the trace of
 * the identity first, which makes it independent of the gradient's scale. The factors have that
 * trace in any case, so that their state needs no scale.
 */
#include "linalg/blas.h"
#include "linalg/vector.h"
#include "optim/stages/kron.h"

#include <math.h>
#include <stdlib.h>

static size_t layout(const mo_stage_options *o, mo_shape shape, mo_state_array *arrays)
{
  const size_t count = mo_kron_layout(o, shape, arrays);
  for (size_t i = 0; i < count; i++) {
    arrays[i].degree = 0;
    arrays[i].side = (mo_side){0};
  }
  return count;
}

/* The factor of one side is the identity: the lower triangle of the pair. */
static void start(mo_side side, float *pair)
{
  MO_FOR_BLOCKS(side, at)
  for (size_t i = 0; i < at.size; i++)
    for (size_t j = 0; j <= i; j++)
      pair[at.offset + i * (at.size + 1) + j] = i == j ? 1.0f : 0.0f;
  mo_side_identity(side, pair);
}

/* Brings y near 1 where the factor of y y^T would leave float: the unit of the state may be far
 * above a gradient that has become small. Returns the power of two. */
static double comfort(float *y, size_t count)
{
  enum { COMFORT = 40, FURTHEST = 120 };
  int exponent = 0;
  frexp(sqrt(mo_sum_squares(y, count)), &exponent);
  if (abs(exponent) <= COMFORT) return 1.0;
  exponent = exponent < -FURTHEST ? -FURTHEST : exponent;
  mo_scale(y, count, ldexpf(1.0f, -exponent));
  return ldexp(1.0, -exponent);
}

/* One factor from y, the gradient whitened on the other side. With T = ||y||^2 and k the factor
 * of y y^T in Lx, the new trace is beta d + (1 - beta) (k T + eps d): both are divided by it. */
static void average(mo_step *s, mo_side side, float *y, float *pair)
{
  const mo_stage_options *o = s->o;
  const mo_shape shape = s->u->shape;
  const size_t d = side.size, other = side.right ? shape.rows : shape.cols;
  const double scale = (double)s->u->grad_scale * comfort(y, s->count), size = (double)d;
  const double squares = mo_sum_squares(y, s->count);
  double k = o->trace_norm != 0.0 ? size / squares : 1.0 / (scale * scale * (double)other);
  if (!(squares > 0.0)) k = 0.0;
  const double trace = o->beta * size + (1.0 - o->beta) * (k * squares + o->eps * size);
  const float keep = (float)(o->beta * size / trace);
  const float add = (float)((1.0 - o->beta) * k * size / trace);
  if (side.right)
    mo_syrk(MO_LOWER, MO_TRANSPOSED, d, shape.rows, add, y, shape.cols, keep, pair, d + 1);
  else
    mo_syrk(MO_LOWER, MO_PLAIN, d, shape.cols, add, y, shape.cols, keep, pair, d + 1);
  const float damping = (float)((1.0 - o->beta) * o->eps * size / trace);
  for (size_t i = 0; i < d; i++) pair[i * (d + 1) + i] += damping;
}

/* One side: statistics of the gradient times the other side's root, and its own root. */
static void renew(mo_step *s, mo_side side, mo_side other, float *pair, float *other_pair,
                  float *basis)
{
  const mo_stage_options *o = s->o;
  float *y = mo_step_buffer(s);
  mo_side_multiply(other, s->u->shape, other_pair, s->grad, y);
  average(s, side, y, pair);
  if (!mo_due(s->u, o->refresh_every, o->stagger != 0.0)) return;
  const mo_root_rule rule = {.power = 0.5,
                             .correction = 1.0,
                             .grad_scale = 1.0f,
                             .damping = MO_DAMP_RELATIVE,
                             .eps = 1e-9,
                             .method = (mo_refresh)o->refresh,
                             .tolerance = o->refresh_tol,
                             .spanned = mo_spanned(s->u)};
  mo_root_refresh(side, &rule, pair, basis, s->work, s->u->counts, s->u->telemetry);
}

enum { LEFT, RIGHT, LEFT_BASIS, RIGHT_BASIS };

static void apply(mo_step *s)
{
  const mo_side left = mo_kron_side(s->o, s->u->shape, false);
  const mo_side right = mo_kron_side(s->o, s->u->shape, true);
  if (mo_first(s->u)) {
    start(left, s->state[LEFT]);
    start(right, s->state[RIGHT]);
  }
  renew(s, left, right, s->state[LEFT], s->state[RIGHT], s->state[LEFT_BASIS]);
  renew(s, right, left, s->state[RIGHT], s->state[LEFT], s->state[RIGHT_BASIS]);
  mo_kron_multiply(s, s->state);
  s->whitened = true;
}

static void again(mo_step *s)
{
  mo_kron_multiply(s, s->inner_state);
}

static double flops(const mo_stage_options *o, mo_shape shape)
{
  return mo_stage_kron.flops(o, shape) +
         2.0 * (double)mo_elements(shape) * (double)(shape.rows + shape.cols);
}

const mo_stage mo_stage_fisher = {.layout = layout,
                                  .work_floats = mo_kron_work_floats,
                                  .flops = flops,
                                  .apply = apply,
                                  .again = again};
