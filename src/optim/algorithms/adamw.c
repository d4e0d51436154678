/* adamw.c - AdamW, Adam with decoupled decay (arXiv:1711.05101).
 *
 *     m <- beta1 m + (1 - beta1) g        v <- beta2 v + (1 - beta2) g^2
 *     w <- w (1 - lr weight_decay) - lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)
 */
#include "base/simd.h"
#include "optim/algorithm.h"
#include "optim/telemetry.h"

#include <math.h>

typedef struct config {
  double lr, beta1, beta2, eps, weight_decay;
} config;

static const mo_option options[] = {
    MO_OPTION_LR(config, 1e-3),
    MO_NUMBER(config, beta1, 0.9, 0, MO_BETA_MAX, "decay of the first moment"),
    MO_NUMBER(config, beta2, 0.95, 0, MO_BETA_MAX, "decay of the second moment"),
    MO_NUMBER(config, eps, 1e-8, 1e-20, 1e3, "added to the root of the second moment"),
    MO_OPTION_WEIGHT_DECAY(config, 0.01),
};

enum { FIRST, SECOND, PART_COUNT };

static size_t layout(const void *config_, mo_shape shape,
                     mo_state_array arrays[MO_MAX_STATE_ARRAYS])
{
  (void)config_;
  arrays[FIRST] = (mo_state_array){"first_moment", mo_elements(shape), 1, {0}};
  arrays[SECOND] = (mo_state_array){"second_moment", mo_elements(shape), 2, {0}};
  return PART_COUNT;
}

static double flops(const void *config_, mo_shape shape)
{
  (void)config_;
  return 20.0 * (double)mo_elements(shape);
}

typedef struct numbers {
  float grad_scale, beta1, beta2, keep, lr, correct1, correct2, eps;
} numbers;

MO_CLONES static void moments_and_step(numbers n, size_t count, const float *restrict grad,
                                       float *restrict first, float *restrict second,
                                       float *restrict value)
{
#pragma omp simd
  for (size_t i = 0; i < count; i++) {
    const float g = n.grad_scale * grad[i];
    const float m = n.beta1 * first[i] + (1.0f - n.beta1) * g;
    const float v = n.beta2 * second[i] + (1.0f - n.beta2) * g * g;
    first[i] = m;
    second[i] = v;
    const float step = n.correct1 * m / (sqrtf(n.correct2 * v) + n.eps);
    value[i] = n.keep * value[i] - n.lr * step;
  }
}

static double step_rms(numbers n, size_t count, const float *first, const float *second)
{
  double squares = 0.0;
  for (size_t i = 0; i < count; i++) {
    const float step = n.correct1 * first[i] / (sqrtf(n.correct2 * second[i]) + n.eps);
    squares += (double)step * (double)step;
  }
  return sqrt(squares / (double)count);
}

static void update(const void *config_, const mo_update *u)
{
  const config *c = config_;
  const double t = (double)u->step;
  const size_t count = mo_elements(u->shape);
  const numbers n = {.grad_scale = u->grad_scale,
                     .beta1 = (float)c->beta1,
                     .beta2 = (float)c->beta2,
                     .keep = (float)(1.0 - c->lr * c->weight_decay),
                     .lr = (float)c->lr,
                     .correct1 = (float)(1.0 / (1.0 - pow(c->beta1, t))),
                     .correct2 = (float)(1.0 / (1.0 - pow(c->beta2, t))),
                     .eps = (float)(c->eps * (double)u->grad_scale)};
  moments_and_step(n, count, u->grad, u->state[FIRST], u->state[SECOND], u->value);
  if (u->telemetry != NULL)
    mo_note(u->telemetry, "update_rms", step_rms(n, count, u->state[FIRST], u->state[SECOND]));
}

const mo_algorithm mo_algorithm_adamw = {
    .name = "adamw",
    .help = "each element by the ratio of its first and second moments, with decoupled decay",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .config_bytes = sizeof(config),
    .layout = layout,
    .flops = flops,
    .element_wise = true,
    .update = update,
};
