/* element.c - AdaMuon's scaling after the orthogonaliser: a second moment of each element.
 *
 *     v <- beta2 v + (1 - beta2) O^2      U = O / (sqrt(v) + eps2)
 *
 * v is kept as its root (averages.h), and has no scale: O is orthogonal.
 */
#include "base/simd.h"
#include "optim/averages.h"
#include "optim/stages/options.h"

static size_t layout(const mo_stage_options *o, mo_shape shape, mo_state_array *arrays)
{
  (void)o;
  arrays[0] = (mo_state_array){"root_update_moment", mo_elements(shape), 0, {0}};
  return 1;
}

MO_CLONES(static void divide(float *restrict x, const float *restrict root, size_t count,
                             double eps))
{
#pragma omp simd
  for (size_t i = 0; i < count; i++) {
    const double divisor = (double)root[i] + eps;
    x[i] = x[i] != 0.0f ? (float)((double)x[i] / divisor) : 0.0f;
  }
}

static void apply(mo_step *s)
{
  float *x = mo_step_own(s);
  mo_average_root(s->state[0], x, s->count, s->o->beta2);
  divide(x, s->state[0], s->count, s->o->eps2);
}

const mo_stage mo_stage_element = {.layout = layout, .apply = apply};
