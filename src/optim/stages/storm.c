/* storm.c - LiMuon's momentum: variance-reduced by a second gradient, and kept at low rank.
 *
 *     H = the gradient of the same batch at the weights before this step's (input 0)
 *     t = 1: M = G.  Later: M = G + mu (Mhat - H)              X0 = M
 *     Mhat = M when rank is 0 or at least min(m, n) - 5; else, with Omega n x (rank + 5) normal,
 *     Q = orthonormal columns of M Omega, E = the `rank` leading left singular vectors of Q^T M:
 *     Mhat = A B with A = Q E (m x rank) and B = A^T M (rank x n), and only they are kept
 *
 * Omega(i, j) of step t is number i (rank + 5) + j of stream t of seed 0: the same everywhere.
 */
#include "base/random.h"
#include "base/simd.h"
#include "linalg/blas.h"
#include "linalg/lapack.h"
#include "linalg/vector.h"
#include "optim/basis.h"
#include "optim/stages/options.h"

#include <math.h>
#include <string.h>

enum { OVERSAMPLING = 5 };

/* 0: M is kept in full. */
static size_t kept_rank(const mo_stage_options *o, mo_shape shape)
{
  const size_t rank = (size_t)o->rank;
  return rank > 0 && rank + OVERSAMPLING < mo_shorter(shape) ? rank : 0;
}

static size_t layout(const mo_stage_options *o, mo_shape shape, mo_state_array *arrays)
{
  const size_t rank = kept_rank(o, shape);
  if (rank == 0) {
    arrays[0] = (mo_state_array){"momentum", mo_elements(shape), 1, {0}};
    return 1;
  }
  arrays[0] = (mo_state_array){"momentum_basis", rank * shape.rows, 0, {0}}; /* A^T */
  arrays[1] = (mo_state_array){"momentum_part", rank * shape.cols, 1, {0}};  /* B */
  return 2;
}

static size_t work_floats(const mo_stage_options *o, mo_shape shape)
{
  const size_t k = kept_rank(o, shape) + OVERSAMPLING;
  return 2 * mo_scratch_floats(k * shape.cols) + mo_scratch_floats(k * shape.rows) +
         mo_scratch_floats(k * k) + mo_scratch_floats(2 * (k * k + k)) +
         mo_scratch_floats(2 * mo_eigh_work_doubles(k));
}

static double flops(const mo_stage_options *o, mo_shape shape)
{
  const double rank = (double)kept_rank(o, shape);
  return (4.0 + 8.0 * rank) * (double)mo_elements(shape);
}

/* m = g + mu (held - gain h), and without h (the first step) m = g; m may be held. */
MO_CLONES static void correct(float *m, const float *held, const float *g, const float *h,
                              size_t count, double mu, double gain)
{
#pragma omp simd
  for (size_t i = 0; i < count; i++)
    m[i] = mo_normal_float((double)g[i] + mu * ((double)held[i] - gain * (double)h[i]));
}

/* Orthonormal rows from those of y (k x n), one after the other, twice; 0 where one depends on
 * those before. */
static void orthonormalise(size_t k, size_t n, float *y)
{
  for (int pass = 0; pass < 2; pass++)
    for (size_t j = 0; j < k; j++) {
      float *row = y + j * n;
      const double before = mo_sum_squares(row, n);
      for (size_t p = 0; p < j; p++)
        mo_subtract(row, y + p * n, n, (float)mo_dot(row, y + p * n, n));
      const double squares = mo_sum_squares(row, n);
      mo_scale(row, n, squares > 1e-10 * before ? (float)(1.0 / sqrt(squares)) : 0.0f);
    }
}

/* rows (k x k, by falling singular value) = the left singular vectors of s (k x n). */
static bool left_vectors(size_t k, size_t n, const float *s, float *gram, double *matrix,
                         double *values, double *rest)
{
  mo_syrk(MO_LOWER, MO_PLAIN, k, n, 1.0f, s, n, 0.0f, gram, k);
  for (size_t i = 0; i < k; i++)
    for (size_t j = 0; j <= i; j++) matrix[i * k + j] = (double)gram[i * k + j];
  if (!mo_eigh_divide(k, matrix, values, rest)) return false;
  for (size_t i = 0; i < k; i++)
    for (size_t j = 0; j < k; j++) gram[i * k + j] = (float)matrix[(k - 1 - i) * k + j];
  return true;
}

/* Both factors of Mhat from M. When the decomposition fails the old ones stay, counted. */
static void compress(mo_step *s, const float *m, size_t rank)
{
  const size_t rows = s->u->shape.rows, cols = s->u->shape.cols, k = rank + OVERSAMPLING;
  float *work = s->work, *omega = mo_scratch_take(&work, k * cols);
  float *part = mo_scratch_take(&work, k * cols), *basis = mo_scratch_take(&work, k * rows);
  float *gram = mo_scratch_take(&work, k * k);
  double *matrix = (double *)(void *)mo_scratch_take(&work, 2 * (k * k + k));
  for (size_t i = 0; i < k * cols; i++)
    omega[i] = (float)mo_random_normal(0, s->u->step, i); /* cols x k */
  mo_gemm(MO_TRANSPOSED, MO_TRANSPOSED, k, rows, cols, 1.0f, omega, k, m, cols, 0.0f, basis,
          rows);
  orthonormalise(k, rows, basis);
  mo_gemm(MO_PLAIN, MO_PLAIN, k, cols, rows, 1.0f, basis, rows, m, cols, 0.0f, part, cols);
  if (!left_vectors(k, cols, part, gram, matrix, matrix + k * k, (double *)(void *)work)) {
    s->u->counts->fallbacks++;
    return;
  }
  mo_gemm(MO_PLAIN, MO_PLAIN, rank, rows, k, 1.0f, gram, k, basis, rows, 0.0f, s->state[0],
          rows);
  mo_gemm(MO_PLAIN, MO_PLAIN, rank, cols, rows, 1.0f, s->state[0], rows, m, cols, 0.0f,
          s->state[1], cols);
}

static void apply(mo_step *s)
{
  const mo_shape shape = s->u->shape;
  const size_t rank = kept_rank(s->o, shape);
  float *m = mo_step_buffer(s);
  const float *held = rank > 0 ? m : s->state[0];
  if (s->u->step > 1 && rank > 0)
    mo_gemm(MO_TRANSPOSED, MO_PLAIN, shape.rows, shape.cols, rank, 1.0f, s->state[0],
            shape.rows, s->state[1], shape.cols, 0.0f, m, shape.cols);
  if (s->u->step > 1)
    correct(m, held, s->x, s->u->inputs[0], s->count, s->o->mu, s->scale);
  else
    memcpy(m, s->x, s->count * sizeof *m);
  s->x = m;
  if (rank > 0)
    compress(s, m, rank);
  else
    memcpy(s->state[0], m, s->count * sizeof *m);
}

const mo_stage mo_stage_storm = {
    .layout = layout, .work_floats = work_floats, .flops = flops, .apply = apply};
