/* kl.c - KL-Shampoo's inner preconditioner, also to be combined, and KL-SOAP's: Kronecker factors
 * that minimise a Kullback-Leibler divergence, with their own estimates of the eigenvalues.
 *
 *     t = 1:  L = (1 - beta) G G^T / (n d), R likewise; Q_L, Q_R their eigenvectors; lamL, lamR = the
 *             start value; no update
 *     later:  klshampoo  M <- mu M + (1 - mu) G      h_ij = (lamL_i lamR_j)^-1/2
 *                        U = Q_L [ (Q_L^T M Q_R) h / (1 + eps h) ] Q_R^T
 *             klsoap     Z = Q_L^T G Q_R      M <- mu M + (1 - mu) Z      v <- beta2 v + ... Z^2
 *                        U = Q_L [ M / (sqrt(v) + eps) ] Q_R^T
 *             inner = kl as klshampoo with the M of the stages before, which t = 1 leaves alone; again,
 *                        for outer: the same of N
 *     after the step, with the Q and lam of before:
 *             L <- beta L + (1 - beta) G Q_R diag(1/lamR) Q_R^T G^T / n,      R likewise
 *             lamL_i <- beta lamL_i + (1 - beta) mean_j(Z_ij^2 / lamR_j),     lamR likewise
 *             lam <- max(lam, floor / c^2),  c = max(10, min(dimension, 4000))
 *             every refresh_every steps: Q <- qr(L Q), unsorted
 *
 * floors absolute: start 0.1, d 1, floor 1, eps as it is; relative: start = d = the first
 * gradient's RMS,
 * floor = mean(lam), eps times the root of both means (klsoap: of mean(v)). L, R and lam grow
 * with the gradient, not with its square: the product of both sides' is what has its square.
 * Relative to a gradient of 0 there is nothing: L, R and lam stay 0 until one that is not (LoRA's A
 * has none in its first steps), which makes them and Q as the first one would.
 */
#include "base/simd.h"
#include "linalg/vector.h"
#include "optim/averages.h"
#include "optim/stages/eigen.h"
#include "optim/stages/kron.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
  FIRST,
  ROOT_SECOND,
  BASIS,
  LEFT_VALUES = BASIS + MO_EIGENBASIS_ARRAYS,
  RIGHT_VALUES,
  ARRAYS
};

static bool keeps_momentum(const mo_stage_options *o)
{
  return o->inner != MO_INNER_KL;
}

static bool is_soap(const mo_stage_options *o)
{
  return o->inner == MO_INNER_KL_ADAM;
}

static size_t layout(const mo_stage_options *o, mo_shape shape, mo_state_array *arrays)
{
  const size_t all = mo_elements(shape);
  arrays[FIRST] = (mo_state_array){"momentum", keeps_momentum(o) ? all : 0, 1, {0}};
  arrays[ROOT_SECOND] = (mo_state_array){"root_second_moment", is_soap(o) ? all : 0, 1, {0}};
  mo_eigenbasis_layout(mo_side_make(shape, false, 0), mo_side_make(shape, true, 0),
                       arrays + BASIS);
  for (size_t i = BASIS; i < LEFT_VALUES; i++)
    if (arrays[i].degree == 2) arrays[i].degree = 1;
  arrays[LEFT_VALUES] = (mo_state_array){"left_values", shape.rows, 1, {0}};
  arrays[RIGHT_VALUES] = (mo_state_array){"right_values", shape.cols, 1, {0}};
  return ARRAYS;
}

static mo_eigenbasis basis_of(const mo_step *s, float *const *state)
{
  const mo_shape shape = s->u->shape;
  return mo_eigenbasis_in(shape, mo_side_make(shape, false, 0), mo_side_make(shape, true, 0),
                          state + BASIS);
}

static size_t work_floats(const mo_stage_options *o, mo_shape shape)
{
  (void)o;
  return mo_scratch_floats(2 * shape.rows) + mo_scratch_floats(2 * shape.cols) +
         mo_eigenbasis_work_floats(mo_side_make(shape, false, 0), mo_side_make(shape, true, 0));
}

static double flops(const mo_stage_options *o, mo_shape shape)
{
  const double all = (double)mo_elements(shape), both = (double)(shape.rows + shape.cols);
  const double again = o->outer != 0.0 ? 4.0 * all * both : 0.0;
  /* The statistics take G into both bases, and once more into the left one alone. */
  return mo_eigen_flops(o, shape) + 2.0 * all * both + 2.0 * all * (double)shape.rows + again;
}

static double mean(const float *values, size_t count)
{
  double sum = 0.0;
  for (size_t i = 0; i < count; i++) sum += (double)values[i];
  return sum / (double)count;
}

/* eps on the scale of the state. */
static double eps_of(const mo_step *s, double unit)
{
  return s->o->eps * (s->o->floors == MO_FLOORS_ABSOLUTE ? (double)s->u->grad_scale : unit);
}

/* Whether all gradients so far were 0, or a long run of them, or of ones that are nothing beside this
 * one, has left nothing of lam: each side's would stay 0 for ever, as there is nothing to divide the
 * other's by, and quotients by less than this would leave float. Only the product of both sides has
 * the gradient's size; what one has, the other may lack. */
static bool has_faded(const mo_step *s, float *const *state)
{
  const double rms = sqrt(mo_sum_squares(s->grad, s->count) / (double)s->count);
  const double left = (double)mo_largest(state[LEFT_VALUES], s->u->shape.rows);
  const double right = (double)mo_largest(state[RIGHT_VALUES], s->u->shape.cols);
  return sqrt(left) * sqrt(right) <= 1e-30 * rms;
}

/* x_ij h / (1 + eps h) = x_ij / (sqrt(lamL_i lamR_j) + eps) */
static void whiten(const mo_step *s, float *const *state, float *x)
{
  const mo_shape shape = s->u->shape;
  const float *left = state[LEFT_VALUES], *right = state[RIGHT_VALUES];
  const double eps = eps_of(s, sqrt(mean(left, shape.rows) * mean(right, shape.cols)));
  if (has_faded(s, state)) {
    memset(x, 0, s->count * sizeof *x);
    return;
  }
  for (size_t i = 0; i < shape.rows; i++)
    for (size_t j = 0; j < shape.cols; j++) {
      const double divisor = sqrt((double)left[i] * (double)right[j]) + eps;
      float *element = &x[i * shape.cols + j];
      *element = divisor > 0.0 ? (float)((double)*element / divisor) : 0.0f;
    }
}

/* m / (sqrt(v) + eps); sqrt(v) is known to no less than the rounding of a projection. */
MO_CLONES(static void adam_quotients(float *restrict x, const float *restrict first,
                                     const float *restrict root, size_t count, double floor,
                                     double eps))
{
#pragma omp simd
  for (size_t i = 0; i < count; i++) {
    const double r = (double)root[i], divisor = (r > floor ? r : floor) + eps;
    x[i] = divisor > 0.0 ? (float)((double)first[i] / divisor) : 0.0f;
  }
}

static void adam(mo_step *s, float *z)
{
  float *first = s->state[FIRST], *root = s->state[ROOT_SECOND];
  mo_average(first, z, s->count, s->o->mu);
  mo_average_root(root, z, s->count, s->o->beta2);
  const double rms = sqrt(mo_sum_squares(root, s->count) / (double)s->count);
  adam_quotients(z, first, root, s->count,
                 4.0 * (double)FLT_EPSILON * (double)mo_largest(first, s->count),
                 eps_of(s, rms));
}

/* s->x in the basis, divided there, and back; the state is on the scale of the gradient. */
static void divided(mo_step *s, float *const *state)
{
  const mo_eigenbasis b = basis_of(s, state);
  float *z = mo_step_buffer(s), *half = mo_step_buffer_beside(s, z);
  mo_eigenbasis_rotate(&b, MO_PLAIN, s->x, half, z);
  if (is_soap(s->o))
    adam(s, z);
  else
    whiten(s, state, z);
  s->x = mo_eigenbasis_rotate(&b, MO_TRANSPOSED, z, half, z);
  s->scale /= (double)s->u->grad_scale;
}

static void apply(mo_step *s)
{
  const bool first = mo_first(s->u); /* there is no basis yet */
  s->skip = first && keeps_momentum(s->o);
  if (first) return;
  if (keeps_momentum(s->o) && !is_soap(s->o)) {
    mo_average(s->state[FIRST], s->x, s->count, s->o->mu);
    s->x = s->state[FIRST];
  }
  divided(s, s->state);
}

static void again(mo_step *s)
{
  if (!mo_first(s->u)) divided(s, s->inner_state);
}

/* Statistics are squares of what is divided by one side's root alone, which is not the gradient's
 * size: beyond this length they would leave float, and are as large as they may be. */
static const double longest = 1e15;

/* factor * gradient, for statistics. */
static void take(const mo_step *s, double factor, float *to)
{
  const double norm = sqrt(mo_sum_squares(s->grad, s->count));
  mo_copy_scaled(to, s->grad, s->count,
                 (float)(norm * factor > longest ? longest / norm : factor));
}

static void start(mo_step *s, const mo_eigenbasis *b)
{
  const mo_shape shape = s->u->shape;
  const double rms = sqrt(mo_sum_squares(s->grad, s->count) / (double)s->count);
  const double gain = (double)s->u->grad_scale;
  const double first = s->o->floors == MO_FLOORS_ABSOLUTE ? 0.1 * gain : rms;
  const double unit = s->o->floors == MO_FLOORS_ABSOLUTE || rms == 0.0 ? gain : rms;
  float *scaled = s->buffers[0];
  take(s, 1.0 / sqrt((double)shape.cols * unit), scaled);
  mo_side_average(b->left, shape, scaled, s->o->beta, 1, b->left_pair);
  take(s, 1.0 / sqrt((double)shape.rows * unit), scaled);
  mo_side_average(b->right, shape, scaled, s->o->beta, 1, b->right_pair);
  for (size_t i = 0; i < shape.rows; i++) s->state[LEFT_VALUES][i] = (float)first;
  for (size_t j = 0; j < shape.cols; j++) s->state[RIGHT_VALUES][j] = (float)first;
}

/* squares[line] = mean over the other side of x^2; x is already divided by the other's roots. */
static void line_means(mo_shape shape, bool right, const float *x, double *squares)
{
  const size_t lines = right ? shape.cols : shape.rows;
  const double length = (double)(right ? shape.rows : shape.cols);
  for (size_t k = 0; k < lines; k++) squares[k] = 0.0;
  for (size_t i = 0; i < shape.rows; i++)
    for (size_t j = 0; j < shape.cols; j++) {
      const double e = (double)x[i * shape.cols + j];
      squares[right ? j : i] += e * e / length;
    }
}

/* y_ij = x_ij / sqrt(lam of the other side * its length) for the statistics of one side. */
static void weigh(mo_shape shape, bool right, const float *x, const float *other, float *y)
{
  const double length = (double)(right ? shape.rows : shape.cols);
  for (size_t i = 0; i < shape.rows; i++)
    for (size_t j = 0; j < shape.cols; j++) {
      const double lam = (double)other[right ? i : j] * length;
      y[i * shape.cols + j] =
          lam > 0.0 ? (float)((double)x[i * shape.cols + j] / sqrt(lam)) : 0.0f;
    }
}

static void average_values(mo_step *s, size_t count, const double *squares, float *values)
{
  const double beta = s->o->beta, c = fmax(10.0, fmin((double)count, 4000.0));
  double sum = 0.0;
  for (size_t k = 0; k < count; k++) {
    values[k] = mo_normal_float(beta * (double)values[k] + (1.0 - beta) * squares[k]);
    sum += (double)values[k];
  }
  const double unit =
      s->o->floors == MO_FLOORS_ABSOLUTE ? (double)s->u->grad_scale : sum / (double)count;
  for (size_t k = 0; k < count; k++) values[k] = (float)fmax((double)values[k], unit / (c * c));
}

/* half: the gradient in the other side's basis, z: in both. The new lam of this side goes to
 * `squares` first: the other side still needs the old one. */
static void average_side(mo_step *s, const mo_eigenbasis *b, bool right, const float *half,
                         const float *z, float *y, double *squares)
{
  const mo_shape shape = s->u->shape;
  const float *other = s->state[right ? LEFT_VALUES : RIGHT_VALUES];
  const double length = (double)(right ? shape.rows : shape.cols);
  weigh(shape, right, half, other, y);
  const double norm = sqrt(mo_sum_squares(y, s->count));
  if (norm > longest) mo_scale(y, s->count, (float)(longest / norm));
  mo_side_average(right ? b->right : b->left, shape, y, s->o->beta, s->u->step,
                  right ? b->right_pair : b->left_pair);
  weigh(shape, right, z, other, y);
  line_means(shape, right, y, squares);
  const size_t lines = right ? shape.cols : shape.rows;
  for (size_t k = 0; k < lines; k++) squares[k] *= length; /* weigh has divided by it */
}

static void statistics(mo_step *s, const mo_eigenbasis *b)
{
  const mo_shape shape = s->u->shape;
  const size_t rows = shape.rows, cols = shape.cols;
  float *half = s->buffers[0], *z = s->buffers[1], *y = s->buffers[2], *work = s->work;
  double *left = (double *)(void *)mo_scratch_take(&work, 2 * rows);
  double *right = (double *)(void *)mo_scratch_take(&work, 2 * cols);
  mo_gemm(MO_PLAIN, MO_TRANSPOSED, rows, cols, cols, 1.0f, s->grad, cols, b->right_basis, cols,
          0.0f, half, cols);
  mo_gemm(MO_PLAIN, MO_PLAIN, rows, cols, rows, 1.0f, b->left_basis, rows, half, cols, 0.0f, z,
          cols);
  average_side(s, b, false, half, z, y, left);
  mo_gemm(MO_PLAIN, MO_PLAIN, rows, cols, rows, 1.0f, b->left_basis, rows, s->grad, cols, 0.0f,
          half, cols);
  average_side(s, b, true, half, z, y, right);
  average_values(s, rows, left, s->state[LEFT_VALUES]);
  average_values(s, cols, right, s->state[RIGHT_VALUES]);
}

/* The basis of statistics that have just begun. */
static void find(mo_step *s, const mo_eigenbasis *b)
{
  mo_eigenbasis_renew(b, MO_BASIS_FIND, MO_BASIS_FIND, 0.0, NULL, s->buffers[2], s->work,
                      s->u->counts);
}

static void finish(mo_step *s)
{
  const mo_eigenbasis b = basis_of(s, s->state);
  const bool carried = is_soap(s->o), first = mo_first(s->u),
             faded = !first && has_faded(s, s->state);
  if (faded && mo_largest(s->grad, s->count) == 0.0f) return;
  if (first || faded)
    start(s, &b);
  else
    statistics(s, &b);
  if (!faded && !mo_eigen_due(s)) return;
  float *original = s->buffers[0], *half = s->buffers[1];
  if (carried) mo_eigenbasis_rotate(&b, MO_TRANSPOSED, s->state[FIRST], half, original);
  if (faded)
    find(s, &b);
  else
    mo_eigen_renew(s, &b, MO_BASIS_TURN, NULL);
  if (carried) mo_eigenbasis_rotate(&b, MO_PLAIN, original, half, s->state[FIRST]);
}

const mo_stage mo_stage_kl = {.layout = layout,
                              .work_floats = work_floats,
                              .flops = flops,
                              .apply = apply,
                              .again = again,
                              .finish = finish};
