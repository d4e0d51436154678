/* given.c - K-FAC's inner preconditioner, from covariances that the caller gives: input 0 is B
 * (m x m, of the gradients at the layer's outputs), input 1 is A (n x n, of its inputs).
 *
 *     A <- beta A + (1 - beta) A_new, from I;  B likewise; what is not given stays
 *     every refresh_every steps: A = Q_A diag(a) Q_A^T,  B = Q_B diag(b) Q_B^T
 *     H = Q_B [ (Q_B^T G Q_A)_ij / (b_i a_j + eps) ] Q_A^T
 *         (with refresh_tol a basis that is near enough stays, and only a or b is new)
 *     kl_clip > 0: H <- H min(1, sqrt(kl_clip / (lr^2 |<H, G>|)))
 */
#include "linalg/vector.h"
#include "optim/eigenbasis.h"
#include "optim/stages/options.h"

#include <math.h>

enum { BASIS, LEFT_VALUES = BASIS + MO_EIGENBASIS_ARRAYS, RIGHT_VALUES, ARRAYS };
enum { OUTPUTS, INPUTS };

static size_t layout(const mo_stage_options *o, mo_shape shape, mo_state_array *arrays)
{
  (void)o;
  mo_eigenbasis_layout(mo_side_make(shape, false, 0), mo_side_make(shape, true, 0),
                       arrays + BASIS);
  for (size_t i = BASIS; i < LEFT_VALUES; i++) { /* not of the gradient: they have no scale */
    arrays[i].degree = 0;
    arrays[i].side = (mo_side){0};
  }
  arrays[LEFT_VALUES] = (mo_state_array){"left_values", shape.rows, 0, {0}};
  arrays[RIGHT_VALUES] = (mo_state_array){"right_values", shape.cols, 0, {0}};
  return ARRAYS;
}

static size_t work_floats(const mo_stage_options *o, mo_shape shape)
{
  (void)o;
  return mo_decompose_work_floats(mo_longer(shape));
}

static double flops(const mo_stage_options *o, mo_shape shape)
{
  const double m = (double)shape.rows, n = (double)shape.cols;
  return 4.0 * m * n * (m + n) + 30.0 * (m * m * m + n * n * n) / o->refresh_every;
}

static void average(size_t n, const float *given, double beta, bool first, float *pair)
{
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) {
      float *held = &pair[i * (n + 1) + j];
      const double before = first ? (i == j ? 1.0 : 0.0) : (double)*held;
      *held = given != NULL
                  ? mo_normal_float(beta * before + (1.0 - beta) * (double)given[i * n + j])
                  : (float)before;
    }
}

static void decompose(mo_step *s, size_t n, const float *pair, float *basis, float *values)
{
  double *matrix = (double *)(void *)s->work, *wide = matrix + n * n;
  if (mo_basis_near(n, pair, s->o->refresh_tol, basis, values, s->work)) {
    for (size_t i = 0; i < n; i++) values[i] = fmaxf(values[i], 0.0f);
    return;
  }
  s->u->counts->refreshes++;
  if (!mo_decompose(n, pair, 1.0, 0.0, NULL, matrix, wide, wide + n, s->u->counts)) return;
  for (size_t i = 0; i < n * n; i++) basis[i] = (float)matrix[i];
  for (size_t i = 0; i < n; i++) values[i] = (float)fmax(wide[i], 0.0);
}

static void renew(mo_step *s, const mo_eigenbasis *b)
{
  const size_t rows = s->u->shape.rows, cols = s->u->shape.cols;
  const bool first = mo_first(s->u);
  average(rows, s->u->inputs[OUTPUTS], s->o->beta, first, b->left_pair);
  average(cols, s->u->inputs[INPUTS], s->o->beta, first, b->right_pair);
  if (!mo_due(s->u, s->o->refresh_every, s->o->stagger != 0.0)) return;
  decompose(s, rows, b->left_pair, b->left_basis, s->state[LEFT_VALUES]);
  decompose(s, cols, b->right_pair, b->right_basis, s->state[RIGHT_VALUES]);
}

static void divide(mo_step *s, float *x)
{
  const mo_shape shape = s->u->shape;
  for (size_t i = 0; i < shape.rows; i++)
    for (size_t j = 0; j < shape.cols; j++) {
      const double product =
          (double)s->state[LEFT_VALUES][i] * (double)s->state[RIGHT_VALUES][j];
      x[i * shape.cols + j] = (float)((double)x[i * shape.cols + j] / (product + s->o->eps));
    }
}

/* At most so much of the (quadratic) divergence in a step. */
static void clip(mo_step *s, float *h)
{
  const double lr = s->o->lr / s->scale;
  const double divergence = lr * lr * fabs(mo_dot(h, s->grad, s->count));
  if (s->o->kl_clip > 0.0 && divergence > s->o->kl_clip)
    mo_scale(h, s->count, (float)sqrt(s->o->kl_clip / divergence));
}

static void apply(mo_step *s)
{
  const mo_shape shape = s->u->shape;
  const mo_eigenbasis b = mo_eigenbasis_in(shape, mo_side_make(shape, false, 0),
                                           mo_side_make(shape, true, 0), s->state + BASIS);
  renew(s, &b);
  float *h = mo_step_buffer(s), *half = mo_step_buffer_beside(s, h);
  mo_eigenbasis_rotate(&b, MO_PLAIN, s->x, half, h);
  divide(s, h);
  mo_eigenbasis_rotate(&b, MO_TRANSPOSED, h, half, h);
  clip(s, h);
  s->x = h;
}

const mo_stage mo_stage_given = {
    .layout = layout, .work_floats = work_floats, .flops = flops, .apply = apply};
