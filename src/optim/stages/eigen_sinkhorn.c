/* eigen_sinkhorn.c - SinkSOAP's inner preconditioner: rows and columns balanced in the basis.
 *
 *     L <- beta L + (1 - beta) G G^T, R likewise, with the present gradient; every refresh_every
 *             steps Q_L, Q_R are renewed (eigenbasis.h)
 *     A = Q_L^T X0 Q_R      B = A^2 + e      c = 1, then `sinkhorn` times
 *             r_i = (1/m) / (sum_j B_ij c_j + e)      c_j = (1/n) / (sum_i B_ij r_i + e)
 *     X = Q_L [ A_ij sqrt(r_i c_j) ] Q_R^T
 *
 * e = eps. A is divided by its RMS first; floors absolute is the same without that division, for
 * which e in B and r becomes e/RMS^2.
 */
#include "base/simd.h"
#include "linalg/vector.h"
#include "optim/stages/eigen.h"
#include "optim/stages/kron.h"

#include <math.h>
#include <string.h>

static size_t layout(const mo_stage_options *o, mo_shape shape, mo_state_array *arrays)
{
  mo_eigenbasis_layout(mo_kron_side(o, shape, false), mo_kron_side(o, shape, true), arrays);
  return MO_EIGENBASIS_ARRAYS;
}

static size_t work_floats(const mo_stage_options *o, mo_shape shape)
{
  return mo_larger(mo_eigen_work_floats(o, shape),
                   mo_scratch_floats(shape.rows) + 2 * mo_scratch_floats(shape.cols));
}

/* sum_j B_ij c_j and columns += B_ij r_i, with B = A^2 + e, for one row. */
MO_CLONES(static float weighted(const float *restrict a, const float *restrict c, float e,
                                size_t cols))
{
  float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
  for (size_t j = 0; j < cols; j++) sum += (a[j] * a[j] + e) * c[j];
  return sum;
}

MO_CLONES(static void add_weighted(float *restrict columns, const float *restrict a, float r,
                                   float e, size_t cols))
{
#pragma omp simd
  for (size_t j = 0; j < cols; j++) columns[j] += (a[j] * a[j] + e) * r;
}

static void balance(mo_shape shape, const float *a, float e, float row_e, int times, float *r,
                    float *c, float *sums)
{
  const size_t rows = shape.rows, cols = shape.cols;
  for (size_t j = 0; j < cols; j++) c[j] = 1.0f;
  for (int k = 0; k < times; k++) {
    memset(sums, 0, cols * sizeof *sums);
    for (size_t i = 0; i < rows; i++) {
      const float *row = a + i * cols;
      r[i] = 1.0f / (float)rows / (weighted(row, c, row_e, cols) + row_e);
      add_weighted(sums, row, r[i], row_e, cols);
    }
    for (size_t j = 0; j < cols; j++) c[j] = 1.0f / (float)cols / (sums[j] + e);
  }
}

MO_CLONES(static void scale_row(float *restrict a, const float *restrict c, float r,
                                size_t cols))
{
#pragma omp simd
  for (size_t j = 0; j < cols; j++) a[j] *= sqrtf(r * c[j]);
}

static void sinkhorn(mo_step *s, float *a)
{
  const mo_shape shape = s->u->shape;
  float *work = s->work, *r = mo_scratch_take(&work, shape.rows);
  float *c = mo_scratch_take(&work, shape.cols), *sums = mo_scratch_take(&work, shape.cols);
  const double rms = sqrt(mo_sum_squares(a, s->count) / (double)s->count);
  const double unit = s->o->floors == MO_FLOORS_ABSOLUTE ? s->scale / rms : 1.0;
  if (rms == 0.0) return;
  mo_scale(a, s->count, (float)(1.0 / rms));
  /* beyond 1e20 B is e alone, and its sums must stay in float */
  balance(shape, a, (float)s->o->eps, (float)fmin(s->o->eps * unit * unit, 1e20),
          (int)s->o->sinkhorn, r, c, sums);
  for (size_t i = 0; i < shape.rows; i++) scale_row(a + i * shape.cols, c, r[i], shape.cols);
}

static void apply(mo_step *s)
{
  const mo_eigenbasis b = mo_eigen_basis(s, 0);
  mo_eigenbasis_average(&b, s->grad, mo_stats_beta(s->o), s->u->step);
  mo_eigen_renew(s, &b, MO_BASIS_MOVE, NULL);
  mo_step_comfort(s, 1.0, 16);
  float *a = mo_step_buffer(s), *half = mo_step_buffer_beside(s, a);
  mo_eigenbasis_rotate(&b, MO_PLAIN, s->x, half, a);
  sinkhorn(s, a);
  s->x = mo_eigenbasis_rotate(&b, MO_TRANSPOSED, a, half, a);
  s->scale = 1.0;
}

const mo_stage mo_stage_eigen_sinkhorn = {
    .layout = layout, .work_floats = work_floats, .flops = mo_eigen_flops, .apply = apply};
