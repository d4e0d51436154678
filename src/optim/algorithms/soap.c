/* soap.c - SOAP, Adam in the eigenbasis of Shampoo's statistics (arXiv:2409.11321).
 *
 *     first step: L = (1 - beta2) G G^T, R likewise; Q_L, Q_R their eigenvectors; no update
 *     then with t = 1, 2, ...:
 *         G' = Q_L^T G Q_R
 *         m <- beta1 m + (1 - beta1) G'       v <- beta2 v + (1 - beta2) G'^2    (element-wise)
 *         W <- W - lr sqrt(1 - beta2^t)/(1 - beta1^t) Q_L (m / (sqrt(v) + eps)) Q_R^T
 *         W <- W (1 - lr weight_decay)
 *         L <- beta2 L + (1 - beta2) G G^T,   R likewise
 *         every refresh_every steps: one power iteration, Q <- qr(L Q), columns sorted by
 *         diag(Q^T L Q); v is permuted with them, m is carried over through the original space
 *
 * The basis moves after the step, so that a gradient never meets a basis made from itself.
 * A side longer than max_precond_dim has Q = I. A basis is stored with eigenvectors as rows, v
 * as its root (averages.h).
 */
#include "base/simd.h"
#include "linalg/blas.h"
#include "linalg/vector.h"
#include "optim/averages.h"
#include "optim/basis.h"
#include "optim/root.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct config {
  double lr, beta1, beta2, eps, weight_decay, refresh_every, max_precond_dim, bias_correction,
      stagger;
} config;

static const mo_option options[] = {
    MO_OPTION_LR(config, 3e-3),
    MO_NUMBER(config, beta1, 0.95, 0, MO_BETA_MAX, "decay of the first moment"),
    MO_NUMBER(config, beta2, 0.95, 0, MO_BETA_MAX, "decay of the second moment and statistics"),
    MO_NUMBER(config, eps, 1e-8, 1e-20, 1e3, "added to the root of the second moment"),
    MO_OPTION_WEIGHT_DECAY(config, 0.01),
    MO_WHOLE(config, refresh_every, 10, 1, 1e9, 0, "steps between moves of the basis"),
    MO_WHOLE(config, max_precond_dim, 10000, 1, 1e6, 1, "longer sides are left unrotated"),
    MO_SWITCH(config, bias_correction, 1, 0, "correct the moments for starting at zero"),
    MO_OPTION_STAGGER(config),
};

enum { FIRST, ROOT_SECOND, LEFT, RIGHT, LEFT_BASIS, RIGHT_BASIS, PART_COUNT };

static mo_side side_of(const config *c, mo_shape shape, bool right)
{
  return mo_side_up_to(shape, right, (size_t)c->max_precond_dim);
}

static size_t layout(const void *config_, mo_shape shape,
                     mo_state_array arrays[MO_MAX_STATE_ARRAYS])
{
  const mo_side left = side_of(config_, shape, false), right = side_of(config_, shape, true);
  arrays[FIRST] = (mo_state_array){"first_moment", mo_elements(shape), 1, {0}};
  arrays[ROOT_SECOND] = (mo_state_array){"root_second_moment", mo_elements(shape), 1, {0}};
  arrays[LEFT] = (mo_state_array){"left", mo_pair_floats(left), 2, left};
  arrays[RIGHT] = (mo_state_array){"right", mo_pair_floats(right), 2, right};
  arrays[LEFT_BASIS] = (mo_state_array){"left_basis", left.size * left.size, 0, {0}};
  arrays[RIGHT_BASIS] = (mo_state_array){"right_basis", right.size * right.size, 0, {0}};
  return PART_COUNT;
}

/* The first basis by eigh, later ones by a move with its order of columns. */
static size_t basis_floats(mo_side side)
{
  const size_t n = side.size;
  return mo_larger(mo_order_floats(n) + mo_basis_work_floats(n), mo_decompose_work_floats(n));
}

static size_t work_floats(const void *config_, mo_shape shape)
{
  return 3 * mo_scratch_floats(mo_elements(shape)) +
         mo_larger(basis_floats(side_of(config_, shape, false)),
                   basis_floats(side_of(config_, shape, true)));
}

static double flops(const void *config_, mo_shape shape)
{
  const config *c = config_;
  const double left = (double)side_of(c, shape, false).size;
  const double right = (double)side_of(c, shape, true).size;
  const double moves = 8.0 * (left * left * left + right * right * right) / c->refresh_every;
  return 5.0 * (double)mo_elements(shape) * (left + right) + moves;
}

typedef struct bases {
  mo_side left, right;
  float *left_basis, *right_basis;
} bases;

/* y = B_L x B_R^T (into the basis) or B_L^T x B_R (out of it); half is scratch. y may be x. */
static void rotate(const bases *b, mo_shape shape, mo_transpose into, const float *x,
                   float *half, float *y)
{
  const size_t rows = shape.rows, cols = shape.cols;
  const mo_transpose right_way = into == MO_PLAIN ? MO_TRANSPOSED : MO_PLAIN;
  if (b->left.size > 0)
    mo_gemm(into, MO_PLAIN, rows, cols, rows, 1.0f, b->left_basis, rows, x, cols, 0.0f, half,
            cols);
  else
    memcpy(half, x, rows * cols * sizeof *half);
  if (b->right.size > 0)
    mo_gemm(MO_PLAIN, right_way, rows, cols, cols, 1.0f, half, cols, b->right_basis, cols, 0.0f,
            y, cols);
  else
    memcpy(y, half, rows * cols * sizeof *y);
}

/* m / (sqrt(v) + eps). Adam's own quotient is of order 1, but a move of the basis can leave m
 * where v is nearly 0: rounding takes 1e-7 of the largest m to everywhere, so that sqrt(v) is
 * known to no less than that, and there is a last limit. */
MO_CLONES static void quotients(size_t count, const float *restrict first,
                                const float *restrict root, double eps, double floor,
                                float *restrict quotient)
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

static void adam(const config *c, const mo_update *u, const float *grad, float *quotient)
{
  const size_t all = mo_elements(u->shape);
  float *first = u->state[FIRST], *root = u->state[ROOT_SECOND];
  mo_average(first, grad, all, c->beta1);
  mo_average_root(root, grad, all, c->beta2);
  quotients(all, first, root, c->eps * (double)u->grad_scale,
            4.0 * (double)FLT_EPSILON * (double)mo_largest(first, all), quotient);
}

/* Rows (left) or columns (right) of the second moment into the new order. */
static void permute_second(mo_side side, mo_shape shape, const size_t *order, float *second,
                           float *copy)
{
  memcpy(copy, second, mo_elements(shape) * sizeof *copy);
  for (size_t i = 0; i < shape.rows; i++)
    for (size_t j = 0; j < shape.cols; j++)
      second[i * shape.cols + j] =
          side.right ? copy[i * shape.cols + order[j]] : copy[order[i] * shape.cols + j];
}

/* On failure the old basis and moments stay. */
static void move_basis(mo_side side, const mo_update *u, const float *pair, float *basis,
                       float *second, float *copy, float *work)
{
  if (side.size == 0) return;
  size_t *order = (size_t *)(void *)mo_scratch_take(&work, mo_order_floats(side.size));
  u->counts->refreshes++;
  if (mo_basis_move(side.size, pair, basis, order, work))
    permute_second(side, u->shape, order, second, copy);
  else
    u->counts->fallbacks++;
}

static void start(const config *c, const mo_update *u, const bases *b, const float *grad,
                  float *work)
{
  mo_side_average(b->left, u->shape, grad, c->beta2, u->step, u->state[LEFT]);
  mo_side_average(b->right, u->shape, grad, c->beta2, u->step, u->state[RIGHT]);
  mo_basis_first(b->left.size, u->state[LEFT], b->left_basis, work, u->counts);
  mo_basis_first(b->right.size, u->state[RIGHT], b->right_basis, work, u->counts);
}

static void step(const config *c, const mo_update *u, const bases *b, const float *grad,
                 float *rotated, float *half)
{
  const size_t all = mo_elements(u->shape);
  const double t = (double)(u->step - 1); /* the first call only made the basis */
  const double correction =
      c->bias_correction != 0.0 ? sqrt(1.0 - pow(c->beta2, t)) / (1.0 - pow(c->beta1, t)) : 1.0;
  rotate(b, u->shape, MO_PLAIN, grad, half, rotated);
  adam(c, u, rotated, half);
  rotate(b, u->shape, MO_TRANSPOSED, half, rotated, half);
  /* (w - rate d)(1 - lr wd), as published: the decay comes after the step. */
  const double keep = 1.0 - c->lr * c->weight_decay;
  mo_apply(u->value, half, all, keep, c->lr * correction * keep);
  if (u->telemetry != NULL)
    mo_note(u->telemetry, MO_UPDATE_RMS,
            correction * sqrt(mo_sum_squares(half, all) / (double)all));
}

static void update(const void *config_, const mo_update *u)
{
  const config *c = config_;
  const size_t all = mo_elements(u->shape);
  const bases b = {side_of(c, u->shape, false), side_of(c, u->shape, true),
                   u->state[LEFT_BASIS], u->state[RIGHT_BASIS]};
  float *work = u->work;
  float *spare = mo_scratch_take(&work, all), *rotated = mo_scratch_take(&work, all);
  float *half = mo_scratch_take(&work, all);
  const float *grad = mo_scaled_gradient(u, spare);
  if (u->step == 1) {
    start(c, u, &b, grad, work);
    return;
  }
  step(c, u, &b, grad, rotated, half);
  mo_side_average(b.left, u->shape, grad, c->beta2, u->step, u->state[LEFT]);
  mo_side_average(b.right, u->shape, grad, c->beta2, u->step, u->state[RIGHT]);
  if (!mo_due(u, c->refresh_every, c->stagger != 0.0)) return;
  rotate(&b, u->shape, MO_TRANSPOSED, u->state[FIRST], half, rotated);
  move_basis(b.left, u, u->state[LEFT], b.left_basis, u->state[ROOT_SECOND], half, work);
  move_basis(b.right, u, u->state[RIGHT], b.right_basis, u->state[ROOT_SECOND], half, work);
  rotate(&b, u->shape, MO_PLAIN, rotated, half, u->state[FIRST]);
}

const mo_algorithm mo_algorithm_soap = {
    .name = "soap",
    .help = "Adam in the slowly moving eigenbasis of the gradient's second moments",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .config_bytes = sizeof(config),
    .refuses = mo_refuse_vectors,
    .layout = layout,
    .work_floats = work_floats,
    .flops = flops,
    .update = update,
};
