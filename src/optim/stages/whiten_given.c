/* whiten_given.c - multiplied by the inverse of a covariance that the caller gives (Newton-Muon).
 *
 *     A <- beta A + (1 - beta) A_now         from the first A_now, input 0, of the columns
 *     every refresh_every steps, from the first on:  K = (A + (eps trace(A)/n + 1e-8) I)^-1
 *     X = G K
 */
#include "linalg/vector.h"
#include "optim/root.h"
#include "optim/stages/options.h"

enum { COVARIANCE, BASIS, ARRAYS };

static mo_side columns(mo_shape shape)
{
  return mo_side_make(shape, true, 0);
}

static size_t layout(const mo_stage_options *o, mo_shape shape, mo_state_array *arrays)
{
  const mo_side side = columns(shape);
  arrays[COVARIANCE] = (mo_state_array){"covariance", mo_pair_floats(side), 0, side};
  arrays[BASIS] =
      (mo_state_array){"basis", mo_root_basis_floats((mo_refresh)o->refresh, side), 0, {0}};
  return ARRAYS;
}

static size_t work_floats(const mo_stage_options *o, mo_shape shape)
{
  return mo_root_work_floats((mo_refresh)o->refresh, columns(shape));
}

static double flops(const mo_stage_options *o, mo_shape shape)
{
  const double n = (double)shape.cols;
  return 2.0 * n * (double)mo_elements(shape) + 30.0 * n * n * n / o->refresh_every;
}

static void average(size_t n, const float *given, double beta, float *pair)
{
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) {
      float *held = &pair[i * (n + 1) + j];
      *held = mo_normal_float(beta * (double)*held + (1.0 - beta) * (double)given[i * n + j]);
    }
}

static void renew(mo_step *s, mo_side side)
{
  const size_t n = side.size;
  const float *pair = s->state[COVARIANCE];
  double trace = 0.0;
  for (size_t i = 0; i < n; i++) trace += (double)pair[i * (n + 1) + i];
  const double damping = s->o->eps * trace / (double)n + 1e-8;
  const mo_root_rule rule = {.power = 1.0,
                             .correction = 1.0,
                             .grad_scale = 1.0f,
                             .damping = MO_DAMP_ABSOLUTE,
                             .eps = 0.5 * damping, /* it is added twice */
                             .method = (mo_refresh)s->o->refresh,
                             .tolerance = s->o->refresh_tol};
  mo_root_refresh(side, &rule, s->state[COVARIANCE], s->state[BASIS], s->work, s->u->counts,
                  s->u->telemetry);
}

static void apply(mo_step *s)
{
  const mo_side side = columns(s->u->shape);
  float *product = mo_step_buffer(s), *pair = s->state[COVARIANCE];
  average(side.size, s->u->inputs[0], mo_first(s->u) ? 0.0 : s->o->beta, pair);
  if (mo_first(s->u)) mo_side_identity(side, pair);
  if (mo_due(s->u, s->o->refresh_every, s->o->stagger != 0.0)) renew(s, side);
  mo_side_multiply(side, s->u->shape, pair, s->x, product);
  s->x = product;
}

const mo_stage mo_stage_whiten_given = {
    .layout = layout, .work_floats = work_floats, .flops = flops, .apply = apply};
