/* rows.c - NorMuon's scaling after the orthogonaliser: rows get equal shares over time.
 *
 *     q_i = mean_j O_ij^2      V <- beta2 V + (1 - beta2) q
 *     U = O / (sqrt(V) + eps2), with the norm of O
 *
 * axis rows: one number for each row; long: along the longer side, rows when m >= n and columns
 * otherwise. The exact polar factor of a wide matrix has equal rows, so that there the rows only
 * even out the error of Newton-Schulz; along the longer side there is something to scale.
 */
#include "base/simd.h"
#include "linalg/vector.h"
#include "optim/averages.h"
#include "optim/stages/options.h"

#include <math.h>
#include <string.h>

static bool by_rows(const mo_stage_options *o, mo_shape shape)
{
  return o->axis == MO_AXIS_ROWS || shape.rows >= shape.cols;
}

static size_t lines_of(const mo_stage_options *o, mo_shape shape)
{
  return by_rows(o, shape) ? shape.rows : shape.cols;
}

/* Of degree 0: O is orthogonal, whatever the gradient's scale. */
static size_t layout(const mo_stage_options *o, mo_shape shape, mo_state_array *arrays)
{
  arrays[0] = (mo_state_array){"line_second_moment", lines_of(o, shape), 0, {0}};
  return 1;
}

static size_t work_floats(const mo_stage_options *o, mo_shape shape)
{
  return mo_scratch_floats(lines_of(o, shape));
}

MO_CLONES(static void add_squares(float *restrict sums, const float *restrict x, size_t count))
{
#pragma omp simd
  for (size_t i = 0; i < count; i++) sums[i] += x[i] * x[i];
}

static void mean_squares(mo_shape shape, bool rows, const float *x, float *mean)
{
  if (rows) {
    for (size_t i = 0; i < shape.rows; i++)
      mean[i] = (float)(mo_sum_squares(x + i * shape.cols, shape.cols) / (double)shape.cols);
    return;
  }
  memset(mean, 0, shape.cols * sizeof *mean);
  for (size_t i = 0; i < shape.rows; i++) add_squares(mean, x + i * shape.cols, shape.cols);
  mo_scale(mean, shape.cols, 1.0f / (float)shape.rows);
}

MO_CLONES(static void multiply(float *restrict x, const float *restrict factors, size_t count))
{
#pragma omp simd
  for (size_t i = 0; i < count; i++) x[i] *= factors[i];
}

/* Where a line has always been 0, so is its factor. */
static void factors_of(size_t count, const float *mean, double eps, float *factors)
{
  for (size_t i = 0; i < count; i++) {
    const double divisor = sqrt((double)mean[i]) + eps;
    factors[i] = mean[i] > 0.0f ? (float)(1.0 / divisor) : 0.0f;
  }
}

static void apply(mo_step *s)
{
  const mo_shape shape = s->u->shape;
  const bool rows = by_rows(s->o, shape);
  const size_t lines = lines_of(s->o, shape);
  if (s->o->axis == MO_AXIS_LONGER && shape.rows == shape.cols) return;
  float *x = mo_step_own(s), *factors = s->work;
  const double norm = sqrt(mo_sum_squares(x, s->count));
  mean_squares(shape, rows, x, factors);
  mo_average(s->state[0], factors, lines, s->o->beta2);
  factors_of(lines, s->state[0], s->o->eps2, factors);
  for (size_t i = 0; i < shape.rows; i++) {
    if (rows)
      mo_scale(x + i * shape.cols, shape.cols, factors[i]);
    else
      multiply(x + i * shape.cols, factors, shape.cols);
  }
  const double scaled = sqrt(mo_sum_squares(x, s->count));
  if (s->wanted < 0.0 && scaled > 0.0) s->factor *= norm / scaled;
}

const mo_stage mo_stage_rows = {.layout = layout, .work_floats = work_floats, .apply = apply};
