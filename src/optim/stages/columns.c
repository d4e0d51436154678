/* columns.c - an inner preconditioner for each column: x over the root of its second moment.
 *
 *     v_j <- beta2 v_j + (1 - beta2) sum_i G_ij^2      X = x / sqrt(v + eps)
 */
#include "linalg/vector.h"
#include "optim/stages/options.h"

#include <math.h>
#include <string.h>

static size_t layout(const mo_stage_options *o, mo_shape shape, mo_state_array *arrays)
{
  (void)o;
  arrays[0] = (mo_state_array){"column_second_moment", shape.cols, 2, {0}};
  return 1;
}

static size_t work_floats(const mo_stage_options *o, mo_shape shape)
{
  (void)o;
  return mo_scratch_floats(2 * shape.cols);
}

static void average(const mo_step *s, double *sums)
{
  const size_t cols = s->u->shape.cols;
  memset(sums, 0, cols * sizeof *sums);
  for (size_t i = 0; i < s->u->shape.rows; i++)
    for (size_t j = 0; j < cols; j++) {
      const double g = (double)s->grad[i * cols + j];
      sums[j] += g * g;
    }
  for (size_t j = 0; j < cols; j++)
    s->state[0][j] =
        mo_normal_float(s->o->beta2 * (double)s->state[0][j] + (1.0 - s->o->beta2) * sums[j]);
}

static void apply(mo_step *s)
{
  const size_t cols = s->u->shape.cols;
  const double gain = (double)s->u->grad_scale;
  double *factors = (double *)(void *)s->work;
  float *y = mo_step_buffer(s);
  average(s, factors);
  for (size_t j = 0; j < cols; j++) {
    const double v = (double)s->state[0][j] + s->o->eps * gain * gain;
    factors[j] = v > 0.0 ? 1.0 / sqrt(v) : 0.0;
  }
  for (size_t i = 0; i < s->count; i++) y[i] = (float)((double)s->x[i] * factors[i % cols]);
  s->x = y;
  s->scale /= gain;
}

const mo_stage mo_stage_columns = {
    .layout = layout, .work_floats = work_floats, .apply = apply};
