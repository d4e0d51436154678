/* momentum.c - the momentum of whatever comes in.
 *
 *     sum       M <- mu M + G             X0 = M, or mu M + G (nesterov)
 *     average   M <- mu M + (1 - mu) G    X0 = M, or mu M + (1 - mu) G
 *
 * For methods that do not see a factor the two are the same. mu may grow: from mu_start to mu
 * over the first mu_warmup steps; schedules that go on set mu from outside, as they do lr.
 */
#include "optim/momentum.h"

#include "optim/stages/options.h"

static size_t layout(const mo_stage_options *o, mo_shape shape, mo_state_array *arrays)
{
  (void)o;
  arrays[0] = (mo_state_array){"momentum", mo_elements(shape), 1, {0}};
  return 1;
}

static double mu_now(const mo_stage_options *o, uint64_t step)
{
  const double t = (double)step;
  return t < o->mu_warmup ? o->mu_start + (o->mu - o->mu_start) * t / o->mu_warmup : o->mu;
}

static void apply(mo_step *s)
{
  const mo_stage_options *o = s->o;
  const double mu = mu_now(o, s->u->step);
  s->x = mo_momentum(s->state[0], s->x, s->count, mu, o->average != 0.0 ? 1.0 - mu : 1.0,
                     o->nesterov != 0.0, mo_step_buffer(s));
}

const mo_stage mo_stage_momentum = {.layout = layout, .apply = apply};
