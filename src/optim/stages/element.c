/* element.c - AdaMuon's scaling after the orthogonaliser: a second moment of each element.
 *
 *     v <- beta2 v + (1 - beta2) O^2      U = O / (sqrt(v) + eps2)
 *
 * v is kept as its root (averages.h), and has no scale: O is orthogonal.
 */
#include "base/simd.h"
#include "linalg/vector.h"
#include "optim/stages/options.h"

#include <math.h>

static size_t layout(const mo_stage_options *o, mo_shape shape, mo_state_array *arrays)
{
  (void)o;
  arrays[0] = (mo_state_array){"root_update_moment", mo_elements(shape), 0, {0}};
  return 1;
}

/* Both lines of it at once: what counts is how often memory is passed over. */
MO_CLONES(static void divide(float *restrict x, float *restrict root, size_t count, double beta,
                             double eps))
{
  const double add = 1.0 - beta;
#pragma omp simd
  for (size_t i = 0; i < count; i++) {
    const double r = (double)root[i], o = (double)x[i];
    root[i] = mo_normal_float(sqrt(beta * r * r + add * o * o));
    const double divisor = (double)root[i] + eps;
    x[i] = x[i] != 0.0f ? (float)(o / divisor) : 0.0f;
  }
}

static void apply(mo_step *s)
{
  divide(mo_step_own(s), s->state[0], s->count, s->o->beta2, s->o->eps2);
}

const mo_stage mo_stage_element = {.layout = layout, .apply = apply};
