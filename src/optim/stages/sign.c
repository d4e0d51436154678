/* sign.c - an inner preconditioner that leaves nothing but the signs of x; 0 stays 0. In place where
 * x is a buffer: passes over memory are what it costs. */
#include "base/simd.h"
#include "optim/stages/options.h"

MO_CLONES(static void signs(float *y, const float *x, size_t count))
{
#pragma omp simd
  for (size_t i = 0; i < count; i++)
    y[i] = (x[i] > 0.0f ? 1.0f : 0.0f) - (x[i] < 0.0f ? 1.0f : 0.0f);
}

static void apply(mo_step *s)
{
  float *own = mo_step_if_own(s), *y = own != NULL ? own : mo_step_buffer(s);
  signs(y, s->x, s->count);
  s->x = y;
  s->scale = 1.0;
}

const mo_stage mo_stage_sign = {.apply = apply};
