/* lion.c - Lion, sign of an interpolated momentum (arXiv:2302.06675, algorithm 2).
 *
 *     u = sign(beta1 m + (1 - beta1) g), and 0 where that is within eps of 0
 *     w <- w (1 - lr weight_decay) - lr u
 *     m <- beta2 m + (1 - beta2) g
 *
 * Why two betas: the memory is long (beta2), but the step leans on the newest gradient
 * (beta1 < beta2).
 */
#include "base/simd.h"
#include "optim/algorithm.h"
#include "optim/telemetry.h"

typedef struct config {
  double lr, beta1, beta2, eps, weight_decay;
} config;

static const mo_option options[] = {
    MO_OPTION_LR(config, 1e-4),
    MO_NUMBER(config, beta1, 0.95, 0, MO_BETA_MAX, "weight of the momentum in the step"),
    MO_NUMBER(config, beta2, 0.98, 0, MO_BETA_MAX, "decay of the momentum"),
    MO_NUMBER(config, eps, 0, 0, 1e3,
              "elements this close to 0 are not moved; 0: as published"),
    MO_OPTION_WEIGHT_DECAY(config, 0.01),
};

static size_t layout(const void *config_, mo_shape shape,
                     mo_state_array arrays[MO_MAX_STATE_ARRAYS])
{
  (void)config_;
  arrays[0] = (mo_state_array){"momentum", mo_elements(shape), 1, {0}};
  return 1;
}

static double flops(const void *config_, mo_shape shape)
{
  (void)config_;
  return 10.0 * (double)mo_elements(shape);
}

typedef struct numbers {
  float grad_scale, beta1, beta2, eps, keep, lr;
} numbers;

MO_CLONES static void step(numbers n, size_t count, const float *restrict grad,
                           float *restrict momentum, float *restrict value)
{
#pragma omp simd
  for (size_t i = 0; i < count; i++) {
    const float g = n.grad_scale * grad[i], m = momentum[i];
    const float mix = n.beta1 * m + (1.0f - n.beta1) * g;
    const float sign = (mix > n.eps ? 1.0f : 0.0f) - (mix < -n.eps ? 1.0f : 0.0f);
    value[i] = n.keep * value[i] - n.lr * sign;
    momentum[i] = n.beta2 * m + (1.0f - n.beta2) * g;
  }
}

static void update(const void *config_, const mo_update *u)
{
  const config *c = config_;
  const numbers n = {.grad_scale = u->grad_scale,
                     .beta1 = (float)c->beta1,
                     .beta2 = (float)c->beta2,
                     .eps = (float)(c->eps * (double)u->grad_scale),
                     .keep = (float)(1.0 - c->lr * c->weight_decay),
                     .lr = (float)c->lr};
  step(n, mo_elements(u->shape), u->grad, u->state[0], u->value);
  mo_note(u->telemetry, "update_rms", 1.0);
}

const mo_algorithm mo_algorithm_lion = {
    .name = "lion",
    .help = "sign of an interpolated momentum; half the memory of adamw",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .config_bytes = sizeof(config),
    .layout = layout,
    .flops = flops,
    .element_wise = true,
    .update = update,
};
