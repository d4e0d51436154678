/* momentum.c - the momentum of whatever comes in.
 *
 *     sum       M <- mu M + G             X0 = M, or mu M + G (nesterov)
 *     average   M <- mu M + (1 - mu) G    X0 = M, or mu M + (1 - mu) G
 *
 * For methods that do not see a factor the two are the same. mu may grow (mu_schedule = warmup):
 * from mu_start to mu over the first mu_warmup steps; schedules that go on set mu from outside, as they do lr.
 *
 * Two time constants (kernel = two): X0 <- (1 - mix) X0 + mix X2 with a second momentum of decay mu2,
 * an average if the first one is, and a sum scaled to be as long as the first otherwise.
 */
#include "optim/momentum.h"

#include "base/simd.h"
#include "linalg/vector.h"
#include "optim/stages/options.h"

/* A momentum of orthogonal factors has no scale. */
static size_t layout(const mo_stage_options *o, mo_shape shape, mo_state_array *arrays)
{
  const int degree = o->order == MO_POLAR_FIRST ? 0 : 1;
  const size_t all = mo_elements(shape);
  arrays[0] = (mo_state_array){"momentum", all, degree, {0}};
  if (o->kernel == MO_KERNEL_SINGLE) return 1;
  arrays[1] = (mo_state_array){"second_momentum", all, degree, {0}};
  return 2;
}

static double mu_now(const mo_stage_options *o, uint64_t step)
{
  const double t = (double)step;
  const bool warm = o->mu_schedule == MO_MU_WARMUP && t < o->mu_warmup;
  return warm ? o->mu_start + (o->mu - o->mu_start) * t / o->mu_warmup : o->mu;
}

MO_CLONES static void blend(float *restrict x, const float *restrict y, size_t count,
                            double part)
{
#pragma omp simd
  for (size_t i = 0; i < count; i++)
    x[i] = (float)((1.0 - part) * (double)x[i] + part * (double)y[i]);
}

static void apply(mo_step *s)
{
  const mo_stage_options *o = s->o;
  const bool average = o->average != 0.0, nesterov = o->nesterov != 0.0;
  const double mu = mu_now(o, s->u->step);
  const float *input = s->x;
  s->x = mo_momentum(s->state[0], input, s->count, mu, average ? 1.0 - mu : 1.0, nesterov,
                     mo_step_buffer(s));
  if (o->kernel == MO_KERNEL_SINGLE) return;
  float *x = mo_step_own(s), *other = mo_step_buffer_beside(s, input);
  const double add = average ? 1.0 - o->mu2 : (1.0 - o->mu2) / (1.0 - mu);
  blend(x, mo_momentum(s->state[1], input, s->count, o->mu2, add, nesterov, other), s->count,
        o->mix);
}

const mo_stage mo_stage_momentum = {.layout = layout, .apply = apply};
