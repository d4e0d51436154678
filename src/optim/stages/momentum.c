/* momentum.c - the momentum of whatever comes in.
 *
 *     sum       M <- mu M + G             X0 = M, or mu M + G (nesterov)
 *     average   M <- mu M + (1 - mu) G    X0 = M, or mu M + (1 - mu) G
 *
 * For methods that do not see a factor the two are the same. NAMO (post = scalar) and PolarGrad
 * (norm = nuclear) see it, and mean the average: then s->scale says how much longer a sum is.
 *
 * mu_schedule = warmup: from mu_start to mu over the first mu_warmup steps; cycle: and from mu to
 * mu_end over the steps from mu_fall to mu_last.
 *
 * Several time constants (kernel):
 *
 *     two    X0 <- (1 - mix) X0 + mix X2 with a second momentum of decay mu2
 *     many   X0 = sum_k w_k M_k, or (1 - mu) G + mu sum_k w_k M_k (nesterov), where M_k are
 *            `momenta` averages of ages t_k from `youngest` to `oldest` in equal ratios, of decay
 *            t_k / (1 + t_k); they start as copies of the single momentum's first value; the oldest
 *            weighs w = mix, the others (1 - mix) in the proportion 1 : 2 : 3 ... from the youngest
 *            on (K-Maxwell, modded-nanogpt 2026)
 *
 * where all are averages if mu is that of one, and scaled to be as long as the sum otherwise. From
 * step mix_fall to mix_last mix goes to mix_end; mix_last 0: it stays.
 */
#include "optim/momentum.h"

#include "base/simd.h"
#include "linalg/vector.h"
#include "optim/stages/options.h"

#include <math.h>
#include <string.h>

/* A momentum of orthogonal factors has no scale. */
static size_t layout(const mo_stage_options *o, mo_shape shape, mo_state_array *arrays)
{
  const int degree = o->order == MO_POLAR_FIRST ? 0 : 1;
  const size_t all = mo_elements(shape);
  if (o->kernel == MO_KERNEL_MANY) {
    arrays[0] = (mo_state_array){"momenta", (size_t)o->momenta * all, degree, {0}};
    return 1;
  }
  arrays[0] = (mo_state_array){"momentum", all, degree, {0}};
  if (o->kernel == MO_KERNEL_SINGLE) return 1;
  arrays[1] = (mo_state_array){"second_momentum", all, degree, {0}};
  return 2;
}

/* From `a` to `b` over the steps from first to last; last 0: never. */
static double between(double a, double b, double first, double last, double t)
{
  if (last == 0.0 || t <= first) return a;
  return t >= last ? b : a + (b - a) * (t - first) / (last - first);
}

static double mu_now(const mo_stage_options *o, double t)
{
  const bool warm = o->mu_schedule != MO_MU_CONSTANT && t < o->mu_warmup;
  if (warm) return o->mu_start + (o->mu - o->mu_start) * t / o->mu_warmup;
  return o->mu_schedule == MO_MU_CYCLE ? between(o->mu, o->mu_end, o->mu_fall, o->mu_last, t)
                                       : o->mu;
}

MO_CLONES(static void blend(float *restrict x, const float *restrict y, size_t count,
                            double part))
{
#pragma omp simd
  for (size_t i = 0; i < count; i++)
    x[i] = (float)((1.0 - part) * (double)x[i] + part * (double)y[i]);
}

static void add_second(mo_step *s, const float *input, double mu, double mix)
{
  const mo_stage_options *o = s->o;
  float *x = mo_step_own(s), *other = mo_step_buffer_beside(s, input);
  const double add = o->average != 0.0 ? 1.0 - o->mu2 : (1.0 - o->mu2) / (1.0 - mu);
  blend(x, mo_momentum(s->state[1], input, s->count, o->mu2, add, o->nesterov != 0.0, other),
        s->count, mix);
}

/* M <- beta M + add G, and x += weight M. */
MO_CLONES(static void add_one(float *restrict x, float *restrict m, const float *restrict g,
                              size_t count, double beta, double add, double weight))
{
#pragma omp simd
  for (size_t i = 0; i < count; i++) {
    m[i] = mo_normal_float(beta * (double)m[i] + add * (double)g[i]);
    x[i] = (float)((double)x[i] + weight * (double)m[i]);
  }
}

static void sum_many(mo_step *s, double mu, double mix)
{
  const mo_stage_options *o = s->o;
  const double scale = o->average != 0.0 ? 1.0 : 1.0 / (1.0 - mu);
  const double last = o->momenta - 1.0, ratio = log(o->oldest / o->youngest) / last;
  float *x = mo_step_buffer(s);
  if (o->nesterov != 0.0)
    mo_copy_scaled(x, s->x, s->count, (float)((1.0 - mu) * scale));
  else
    memset(x, 0, s->count * sizeof *x);
  for (double k = 0; k <= last; k++) {
    const double age = o->youngest * exp(ratio * k), beta = age / (1.0 + age);
    const double keep = mo_first(s->u) ? 0.0 : beta,
                 add = mo_first(s->u) ? 1.0 - mu : 1.0 - beta;
    const double part = k < last ? (1.0 - mix) * 2.0 * (k + 1.0) / (last * (last + 1.0)) : mix;
    add_one(x, s->state[0] + (size_t)k * s->count, s->x, s->count, keep, add * scale,
            o->nesterov != 0.0 ? mu * part : part);
  }
  s->x = x;
}

static bool sees_length(const mo_stage_options *o)
{
  return o->post == MO_POST_SCALAR || o->norm == MO_NORM_NUCLEAR;
}

static void apply(mo_step *s)
{
  const mo_stage_options *o = s->o;
  const double t = (double)s->u->step, mu = mu_now(o, t);
  const double mix = between(o->mix, o->mix_end, o->mix_fall, o->mix_last, t);
  const float *input = s->x;
  if (o->kernel == MO_KERNEL_MANY)
    sum_many(s, mu, mix);
  else
    s->x = mo_momentum(s->state[0], input, s->count, mu, o->average != 0.0 ? 1.0 - mu : 1.0,
                       o->nesterov != 0.0, mo_step_buffer(s));
  if (o->kernel == MO_KERNEL_TWO) add_second(s, input, mu, mix);
  if (sees_length(o) && o->average == 0.0) s->scale /= 1.0 - mu;
  if (o->post == MO_POST_SCALAR)
    s->momentum_norm = sqrt(mo_sum_squares(s->x, s->count)) / s->scale;
}

const mo_stage mo_stage_momentum = {.layout = layout, .apply = apply};
