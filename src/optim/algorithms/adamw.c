/* adamw.c - AdamW, Adam with decoupled decay (arXiv:1711.05101).
 *
 *     m <- beta1 m + (1 - beta1) g        v <- beta2 v + (1 - beta2) g^2
 *     w <- w (1 - lr weight_decay) - lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)
 *
 * sqrt(v) is kept, not v: it has the range of the gradient, so that no element needs a scale and
 * an outlier leaves its neighbours alone. beta is not rounded (averages.h).
 */
#include "base/simd.h"
#include "linalg/vector.h"
#include "optim/algorithm.h"
#include "optim/averages.h"
#include "optim/telemetry.h"

#include <float.h>
#include <math.h>

typedef struct adamw_config {
  double lr, beta1, beta2, eps, weight_decay;
} adamw_config;

static const mo_option options[] = {
    MO_OPTION_LR(adamw_config, 1e-3),
    MO_NUMBER(adamw_config, beta1, 0.9, 0, MO_BETA_MAX, "decay of the first moment"),
    MO_NUMBER(adamw_config, beta2, 0.95, 0, MO_BETA_MAX, "decay of the second moment"),
    MO_NUMBER(adamw_config, eps, 1e-8, 1e-20, 1e3, "added to the root of the second moment"),
    MO_OPTION_WEIGHT_DECAY(adamw_config, 0.01),
};

enum { FIRST, ROOT_SECOND, PART_COUNT };

/* Of degree 0: an element's state needs no common scale (grad_scale.h). */
static size_t layout(const void *config_, mo_shape shape,
                     mo_state_array arrays[MO_MAX_STATE_ARRAYS])
{
  (void)config_;
  arrays[FIRST] = (mo_state_array){"first_moment", mo_elements(shape), 0, {0}};
  arrays[ROOT_SECOND] = (mo_state_array){"root_second_moment", mo_elements(shape), 0, {0}};
  return PART_COUNT;
}

static double flops(const void *config_, mo_shape shape)
{
  (void)config_;
  return 20.0 * (double)mo_elements(shape);
}

typedef struct adamw_numbers {
  double beta1, beta2, keep, rate, root_correction, eps;
} adamw_numbers;

/* Any float at all. */
MO_CLONES(static void step_any(adamw_numbers n, size_t count, const float *restrict grad,
                               float *restrict first, float *restrict root,
                               float *restrict value))
{
  const double add1 = 1.0 - n.beta1, add2 = 1.0 - n.beta2;
#pragma omp simd
  for (size_t i = 0; i < count; i++) {
    const double g = (double)grad[i], r = (double)root[i];
    const double m = n.beta1 * (double)first[i] + add1 * g;
    const double root_v = sqrt(n.beta2 * r * r + add2 * g * g);
    first[i] = (float)m;
    root[i] = (float)root_v;
    const double step = n.rate * m / (n.root_correction * root_v + n.eps);
    value[i] = mo_nearest_float(n.keep * (double)value[i] - step);
  }
}

/* In float alone, twice as fast; squares that would not be floats are taken of r and g / 2^64. */
MO_CLONES(static void step_usual(adamw_numbers n, size_t count, const float *restrict grad,
                                 float *restrict first, float *restrict root,
                                 float *restrict value))
{
  const mo_split one = mo_split_beta(n.beta1), two = mo_split_beta(n.beta2);
  const float correction = (float)n.root_correction, eps = (float)n.eps;
  const float rate = (float)n.rate, decay = (float)(1.0 - n.keep);
#pragma omp simd
  for (size_t i = 0; i < count; i++) {
    const float g = grad[i], w = value[i], size = fabsf(g) + root[i];
    const float down = size > 1e18f ? 0x1p-64f : 1.0f, up = size > 1e18f ? 0x1p64f : 1.0f;
    const float r2 = (root[i] * down) * (root[i] * down), g2 = (g * down) * (g * down);
    const float m = one.high * first[i] + (one.low * first[i] + one.add * g);
    const float root_v = up * sqrtf(two.high * r2 + (two.low * r2 + two.add * g2));
    first[i] = m;
    root[i] = root_v;
    const float moved = w - (decay * w + rate * (m / (correction * root_v + eps)));
    const float below = moved > FLT_MAX ? FLT_MAX : moved;
    value[i] = below < -FLT_MAX ? -FLT_MAX : below;
  }
}

/* A root below 1e-19, whose square is no float, is nothing beside an eps of 1e-12; an average
 * over more than 1,000 steps would gather the rounding of float. */
static bool is_usual(adamw_numbers n)
{
  return n.eps >= 1e-12 && n.beta1 <= 0.9991 && n.beta2 <= 0.9991;
}

static void moments_and_step(adamw_numbers n, size_t count, const float *grad, float *first,
                             float *root, float *value)
{
  if (is_usual(n))
    step_usual(n, count, grad, first, root, value);
  else
    step_any(n, count, grad, first, root, value);
}

/* rate: what the quotient is multiplied by. */
static double step_rms(adamw_numbers n, double rate, size_t count, const float *first,
                       const float *root)
{
  double squares = 0.0;
  for (size_t i = 0; i < count; i++) {
    const double step = rate * (double)first[i] / (n.root_correction * (double)root[i] + n.eps);
    squares += step * step;
  }
  return sqrt(squares / (double)count);
}

static void update(const void *config_, const mo_update *u)
{
  const adamw_config *c = config_;
  const size_t count = mo_elements(u->shape);
  const double correct1 = mo_bias_correction(1, c->beta1, u->step);
  const adamw_numbers n = {.beta1 = c->beta1,
                           .beta2 = c->beta2,
                           .keep = 1.0 - c->lr * c->weight_decay,
                           .rate = c->lr * correct1,
                           .root_correction = sqrt(mo_bias_correction(1, c->beta2, u->step)),
                           .eps = c->eps};
  moments_and_step(n, count, u->grad, u->state[FIRST], u->state[ROOT_SECOND], u->value);
  if (u->telemetry != NULL)
    mo_note(u->telemetry, MO_UPDATE_RMS,
            step_rms(n, correct1, count, u->state[FIRST], u->state[ROOT_SECOND]));
}

const mo_algorithm mo_algorithm_adamw = {
    .name = "adamw",
    .help = "each element by the ratio of its first and second moments, with decoupled decay",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .config_bytes = sizeof(adamw_config),
    .layout = layout,
    .flops = flops,
    .element_wise = true,
    .update = update,
};
