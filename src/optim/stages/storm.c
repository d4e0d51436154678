/* storm.c - a momentum corrected by the gradient of the same batch at the previous weights, kept
 * whole or at low rank (LiMuon).
 *
 *     M = G + mu (M - H)          H: that other gradient, input 0; M = G in the first step
 *
 * At low rank M is kept as L^T R (rank x rows and rank x cols), by random projection: with a
 * normal Omega of k = min(rank + 5, shorter side) columns, Q = orthonormal columns of M Omega,
 * S = Q^T M, E its leading left singular vectors, L = (Q E)^T, R = E^T S. Omega's element (i, j)
 * in step t is number i k + j of stream t of seed 0: the same on every rank and after a resume.
 */
#include "base/random.h"
#include "linalg/blas.h"
#include "linalg/vector.h"
#include "optim/basis.h"
#include "optim/stages/options.h"

#include <math.h>
#include <string.h>

enum { OVERSAMPLING = 5 };
enum { LEFT, RIGHT, ARRAYS };

/* 0: kept whole. */
static size_t rank_of(const mo_stage_options *o, mo_shape shape)
{
  return o->rank < (double)mo_shorter(shape) ? (size_t)o->rank : 0;
}

static size_t samples(size_t rank, mo_shape shape)
{
  const size_t most = mo_shorter(shape), wanted = rank + OVERSAMPLING;
  return wanted < most ? wanted : most;
}

static size_t layout(const mo_stage_options *o, mo_shape shape, mo_state_array *arrays)
{
  const size_t rank = rank_of(o, shape);
  arrays[LEFT] = (mo_state_array){"momentum_left", rank * shape.rows, 0, {0}};
  arrays[RIGHT] =
      (mo_state_array){"momentum", rank > 0 ? rank * shape.cols : mo_elements(shape), 1, {0}};
  return ARRAYS;
}

static size_t work_floats(const mo_stage_options *o, mo_shape shape)
{
  const size_t rank = rank_of(o, shape), k = samples(rank, shape);
  if (rank == 0) return 0;
  return 2 * mo_scratch_floats(k * shape.cols) + mo_scratch_floats(k * shape.rows) +
         mo_scratch_floats(k * (k + 1)) + mo_scratch_floats(k * rank) +
         mo_decompose_work_floats(k);
}

static double flops(const mo_stage_options *o, mo_shape shape)
{
  return 6.0 * (double)samples(rank_of(o, shape), shape) * (double)mo_elements(shape);
}

/* Whether there is no M yet: after `steps` was set there is one only if it was written, too. */
static bool is_first(const mo_step *s, size_t rank)
{
  const size_t kept = rank > 0 ? rank * s->u->shape.cols : s->count;
  return s->u->step == 1 || (s->u->first && mo_largest(s->state[RIGHT], kept) == 0.0f);
}

/* m = G + mu (kept - H). In the unit that G chose, H may be beyond float: m stops below that, with
 * room for sums of it. */
static void correct(const mo_step *s, size_t rank, float *m)
{
  const double end = 1e37;
  const size_t rows = s->u->shape.rows, cols = s->u->shape.cols;
  const double mu = is_first(s, rank) ? 0.0 : s->o->mu;
  const float *before = s->u->inputs[0];
  if (rank > 0)
    mo_gemm(MO_TRANSPOSED, MO_PLAIN, rows, cols, rank, 1.0f, s->state[LEFT], rows,
            s->state[RIGHT], cols, 0.0f, m, cols);
  else
    memcpy(m, s->state[RIGHT], s->count * sizeof *m);
  for (size_t i = 0; i < s->count; i++) {
    const double kept = (double)m[i] - s->scale * (double)before[i];
    m[i] = mo_normal_float(fmax(-end, fmin(end, (double)s->x[i] + mu * kept)));
  }
}

/* A power of two that brings m near 1: the other gradient may be far larger than the one that
 * chose the scale of the state. */
static float unit_of(const float *m, size_t count)
{
  enum { LARGEST = 120 };
  int exponent = 0;
  frexpf(mo_largest(m, count), &exponent);
  return ldexpf(1.0f, exponent < -LARGEST ? LARGEST : -exponent);
}

/* Gram-Schmidt over the rows: few of them, and twice is enough. */
static void orthonormalise(size_t count, size_t length, float *rows)
{
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < count; i++) {
      float *row = rows + i * length;
      for (size_t j = 0; j < i; j++)
        mo_subtract(row, rows + j * length, length,
                    (float)mo_dot(row, rows + j * length, length));
      const double norm = sqrt(mo_sum_squares(row, length));
      if (norm > 0.0) mo_scale(row, length, (float)(1.0 / norm));
    }
}

/* e (rank x k) = the leading left singular vectors of image (k x cols), as rows. */
static bool leading(size_t k, size_t cols, size_t rank, const float *image, float *gram,
                    float *e, float *work, mo_counts *counts)
{
  double *vectors = (double *)(void *)work, *values = vectors + k * k;
  mo_syrk(MO_LOWER, MO_PLAIN, k, cols, 1.0f, image, cols, 0.0f, gram, k + 1);
  if (!mo_decompose(k, gram, 1.0, 0.0, NULL, vectors, values, values + k, counts)) return false;
  for (size_t i = 0; i < rank; i++)
    for (size_t j = 0; j < k; j++) e[i * k + j] = (float)vectors[(k - 1 - i) * k + j];
  return true;
}

static void keep(mo_step *s, size_t rank, const float *m)
{
  const size_t rows = s->u->shape.rows, cols = s->u->shape.cols;
  const size_t k = samples(rank, s->u->shape);
  float *work = s->work, *omega = mo_scratch_take(&work, k * cols);
  float *image = mo_scratch_take(&work, k * cols), *q = mo_scratch_take(&work, k * rows);
  float *gram = mo_scratch_take(&work, k * (k + 1)), *e = mo_scratch_take(&work, k * rank);
  const float unit = unit_of(m, s->count);
  mo_random_fill(omega, k * cols, 1.0, 0, s->u->step);
  mo_gemm(MO_TRANSPOSED, MO_TRANSPOSED, k, rows, cols, unit, omega, k, m, cols, 0.0f, q, rows);
  orthonormalise(k, rows, q);
  mo_gemm(MO_PLAIN, MO_PLAIN, k, cols, rows, unit, q, rows, m, cols, 0.0f, image, cols);
  if (!leading(k, cols, rank, image, gram, e, work, s->u->counts)) return;
  mo_gemm(MO_PLAIN, MO_PLAIN, rank, rows, k, 1.0f, e, k, q, rows, 0.0f, s->state[LEFT], rows);
  mo_gemm(MO_PLAIN, MO_PLAIN, rank, cols, k, 1.0f / unit, e, k, image, cols, 0.0f,
          s->state[RIGHT], cols);
}

static void apply(mo_step *s)
{
  const size_t rank = rank_of(s->o, s->u->shape);
  float *m = mo_step_buffer(s);
  correct(s, rank, m);
  if (rank > 0)
    keep(s, rank, m);
  else
    memcpy(s->state[RIGHT], m, s->count * sizeof *m);
  s->x = m;
}

const mo_stage mo_stage_storm = {
    .layout = layout, .work_floats = work_floats, .flops = flops, .apply = apply};
