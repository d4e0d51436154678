/* subspace.c - SUMO's momentum and orthogonaliser, in the leading subspace of the gradient.
 *
 *     on the shorter side (m <= n; else everything transposed), k = min(rank, m):
 *     every refresh_every steps, unless G = 0, and when there is no Q yet:
 *         Qn = the k leading left singular vectors of G, M <- (Qn^T Q) M, Q <- Qn
 *     H = Q^T G      M <- mu M + H      O = NS(M)
 *     limit > 0: if ||O|| > limit ||O_before||, it is scaled down to that
 *     U = Q O + residual (G - Q H)
 *
 * With ortho = low_rank it is an orthogonaliser alone: G is what the stages before made, M = H, and
 * there is neither limit nor residual. Vectors whose singular value is within the rounding of the
 * largest, max(m, n) FLT_EPSILON of it, are left out as 0: a Gram matrix in double tells them from
 * others. Q is kept with vectors as rows.
 */
#include "linalg/blas.h"
#include "linalg/lapack.h"
#include "linalg/vector.h"
#include "optim/stages/fused.h"
#include "optim/stages/options.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOMENTUM, BASIS, NORM, ARRAYS };
enum { PANEL = 64 }; /* columns that enter the Gram matrix at once */

static size_t rank_of(const mo_stage_options *o, mo_shape shape)
{
  const size_t rank = (size_t)o->rank;
  return rank < mo_shorter(shape) ? rank : mo_shorter(shape);
}

static bool keeps_momentum(const mo_stage_options *o)
{
  return o->ortho != MO_ORTHO_LOW_RANK;
}

static size_t layout(const mo_stage_options *o, mo_shape shape, mo_state_array *arrays)
{
  const size_t k = rank_of(o, shape), kept = keeps_momentum(o) ? k * mo_longer(shape) : 0;
  arrays[MOMENTUM] = (mo_state_array){"momentum", kept, 1, {0}};
  arrays[BASIS] = (mo_state_array){"subspace", k * mo_shorter(shape), 0, {0}};
  arrays[NORM] = (mo_state_array){"update_norm", 1, 0, {0}};
  return ARRAYS;
}

static size_t find_floats(mo_shape shape)
{
  const size_t n = mo_shorter(shape);
  return mo_scratch_floats(2 * PANEL * n) + mo_scratch_floats(2 * (n * n + n)) +
         mo_scratch_floats(2 * mo_eigh_work_doubles(n));
}

static size_t work_floats(const mo_stage_options *o, mo_shape shape)
{
  const size_t k = rank_of(o, shape), l = mo_longer(shape);
  const size_t turn = mo_scratch_floats(k * mo_shorter(shape)) + mo_scratch_floats(k * k);
  return 3 * mo_scratch_floats(k * l) +
         mo_larger(turn + find_floats(shape),
                   mo_orthogonalise_work_floats((mo_newton_schulz_set)o->newton_schulz,
                                                (mo_shape){k, l}));
}

/* Into the subspace and back, NS there, and from time to time another subspace. */
static double flops(const mo_stage_options *o, mo_shape shape)
{
  const double n = (double)mo_shorter(shape), all = (double)mo_elements(shape);
  const mo_fused inside = {.shape = {rank_of(o, shape), mo_longer(shape)},
                           .set = (mo_newton_schulz_set)o->newton_schulz};
  const double find = (n * all + 10.0 * n * n * n) / o->refresh_every;
  return 4.0 * (double)rank_of(o, shape) * all + mo_plain_flops(&inside, false) + find;
}

/* gram (lower) = -g g^T in double, panel by panel. */
static void negative_gram(size_t n, size_t l, const float *g, double *panel, double *gram)
{
  memset(gram, 0, n * n * sizeof *gram);
  for (size_t first = 0; first < l; first += PANEL) {
    const size_t k = l - first < PANEL ? l - first : PANEL;
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < k; j++) panel[j * n + i] = (double)g[i * l + first + j];
    mo_remove_rows(n, k, panel, gram);
  }
}

/* q (k x n) = the leading left singular vectors of g (n x l); false when the solver failed. */
static bool leading(size_t n, size_t l, size_t k, const float *g, float *q, float *work)
{
  double *panel = (double *)(void *)mo_scratch_take(&work, 2 * PANEL * n);
  double *matrix = (double *)(void *)mo_scratch_take(&work, 2 * (n * n + n));
  double *values = matrix + n * n;
  negative_gram(n, l, g, panel, matrix);
  for (size_t i = 0; i < n * n; i++) matrix[i] = -matrix[i];
  if (!mo_eigh_divide(n, matrix, values, (double *)(void *)work)) return false;
  const double rounding = (double)l * (double)FLT_EPSILON;
  const double least = rounding * rounding * values[n - 1];
  for (size_t i = 0; i < k; i++)
    for (size_t j = 0; j < n; j++)
      q[i * n + j] = values[n - 1 - i] > least ? (float)matrix[(n - 1 - i) * n + j] : 0.0f;
  return true;
}

/* A new subspace, and the momentum in it. */
static void move(mo_step *s, size_t n, size_t l, const float *g, float *moved, float *work)
{
  const size_t k = rank_of(s->o, s->u->shape);
  float *q = mo_scratch_take(&work, k * n), *turn = mo_scratch_take(&work, k * k);
  s->u->counts->refreshes++;
  if (!leading(n, l, k, g, q, work)) {
    s->u->counts->fallbacks++;
    return;
  }
  if (keeps_momentum(s->o)) {
    mo_gemm(MO_PLAIN, MO_TRANSPOSED, k, k, n, 1.0f, q, n, s->state[BASIS], n, 0.0f, turn, k);
    mo_gemm(MO_PLAIN, MO_PLAIN, k, l, k, 1.0f, turn, k, s->state[MOMENTUM], l, 0.0f, moved, l);
    memcpy(s->state[MOMENTUM], moved, k * l * sizeof *moved);
  }
  memcpy(s->state[BASIS], q, k * n * sizeof *q);
}

static void limit_norm(mo_step *s, float *o, size_t count)
{
  const double most = s->o->limit * (double)s->state[NORM][0];
  double norm = sqrt(mo_sum_squares(o, count));
  if (most > 0.0 && norm > most) {
    mo_scale(o, count, (float)(most / norm));
    norm = most;
  }
  s->state[NORM][0] = (float)norm;
}

/* u (n x l) from g (n x l), n <= l. */
static void update(mo_step *s, size_t n, size_t l, const float *g, float *u)
{
  const size_t k = rank_of(s->o, s->u->shape);
  float *work = s->work, *momentum = s->state[MOMENTUM];
  float *h = mo_scratch_take(&work, k * l), *o = mo_scratch_take(&work, k * l);
  float *spare = mo_scratch_take(&work, k * l);
  const bool due = mo_due(s->u, s->o->refresh_every, s->o->stagger != 0.0) ||
                   mo_largest(s->state[BASIS], k * n) == 0.0f; /* there is none yet */
  if (due && mo_largest(g, n * l) > 0.0f) move(s, n, l, g, spare, work);
  mo_gemm(MO_PLAIN, MO_PLAIN, k, l, n, 1.0f, s->state[BASIS], n, g, l, 0.0f, h, l);
  if (keeps_momentum(s->o))
    for (size_t i = 0; i < k * l; i++)
      o[i] = momentum[i] = mo_normal_float(s->o->mu * (double)momentum[i] + (double)h[i]);
  else
    memcpy(o, h, k * l * sizeof *o);
  mo_orthogonalise((mo_newton_schulz_set)s->o->newton_schulz, (mo_shape){k, l}, 1e-7 * s->scale,
                   o, spare, work, s->u->counts);
  limit_norm(s, o, k * l);
  const float residual = (float)(s->o->residual / s->scale);
  if (residual != 0.0f) { /* O - residual H, and residual G beside it */
    for (size_t i = 0; i < k * l; i++) o[i] -= residual * h[i];
    mo_copy_scaled(u, g, n * l, residual);
  }
  mo_gemm(MO_TRANSPOSED, MO_PLAIN, n, l, k, 1.0f, s->state[BASIS], n, o, l,
          residual != 0.0f ? 1.0f : 0.0f, u, l);
}

static void transpose(size_t rows, size_t cols, const float *x, float *y)
{
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j++) y[j * rows + i] = x[i * cols + j];
}

static void apply(mo_step *s)
{
  const size_t rows = s->u->shape.rows, cols = s->u->shape.cols;
  if (!keeps_momentum(s->o)) mo_step_comfort(s, 1.0, 16);
  float *u = mo_step_buffer(s), *turned = mo_step_buffer_beside(s, u);
  if (mo_is_wide(s->u->shape)) {
    update(s, rows, cols, s->x, u);
  } else {
    transpose(rows, cols, s->x, turned);
    update(s, cols, rows, turned, u);
    transpose(cols, rows, u, turned);
    u = turned;
  }
  if (!keeps_momentum(s->o)) mo_orthogonal_measure(s, u);
  s->x = u;
  s->scale = 1.0;
}

const mo_stage mo_stage_subspace = {
    .layout = layout, .work_floats = work_floats, .flops = flops, .apply = apply};
