/* equilibrate.c - an inner preconditioner that gives all rows, or all columns, the same norm
 * (MuonEq, as nanochat has it).
 *
 *     X_i = x_i ||x|| / (sqrt(m) max(||x_i||, 1e-6 ||x||))          inner = rows
 *
 * and likewise for the columns. Nothing is kept: it is the whitening by the diagonal of x x^T
 * alone. The norm of x stays, where no line is 0.
 */
#include "base/simd.h"
#include "linalg/vector.h"
#include "optim/stages/options.h"

#include <math.h>
#include <string.h>

static size_t work_floats(const mo_stage_options *o, mo_shape shape)
{
  (void)o;
  return mo_scratch_floats(2 * mo_larger(shape.rows, shape.cols));
}

MO_CLONES(static void add_double_squares(double *restrict sums, const float *restrict x,
                                         size_t count))
{
#pragma omp simd
  for (size_t j = 0; j < count; j++) sums[j] += (double)x[j] * (double)x[j];
}

MO_CLONES(static void scale_columns(float *restrict y, const float *restrict x,
                                    const double *restrict factors, size_t count))
{
#pragma omp simd
  for (size_t j = 0; j < count; j++) y[j] = (float)(factors[j] * (double)x[j]);
}

/* What a line of this many squares is multiplied by. */
static double factor_of(double line, double all, double lines)
{
  const double norm = sqrt(all), least = 1e-6 * norm;
  return norm > 0.0 ? norm / sqrt(lines) / fmax(sqrt(line), least) : 1.0;
}

static void by_columns(mo_step *s, float *y, double *factors)
{
  const size_t rows = s->u->shape.rows, cols = s->u->shape.cols;
  double all = 0.0;
  memset(factors, 0, cols * sizeof *factors);
  for (size_t i = 0; i < rows; i++) add_double_squares(factors, s->x + i * cols, cols);
  for (size_t j = 0; j < cols; j++) all += factors[j];
  for (size_t j = 0; j < cols; j++) factors[j] = factor_of(factors[j], all, (double)cols);
  for (size_t i = 0; i < rows; i++) scale_columns(y + i * cols, s->x + i * cols, factors, cols);
}

static void by_rows(mo_step *s, float *y)
{
  const size_t rows = s->u->shape.rows, cols = s->u->shape.cols;
  const double all = mo_sum_squares(s->x, s->count);
  for (size_t i = 0; i < rows; i++) {
    const float *row = s->x + i * cols;
    const double factor = factor_of(mo_sum_squares(row, cols), all, (double)rows);
    mo_copy_scaled(y + i * cols, row, cols, (float)factor);
  }
}

static void apply(mo_step *s)
{
  mo_step_comfort(s, 1.0, 16);
  float *y = mo_step_buffer(s);
  if (s->o->inner == MO_INNER_ROWS)
    by_rows(s, y);
  else
    by_columns(s, y, (double *)(void *)s->work);
  s->x = y;
}

const mo_stage mo_stage_equilibrate = {.work_floats = work_floats, .apply = apply};
