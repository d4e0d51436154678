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
#include "linalg/vector.h"
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
  /* Of degree 0: an element's state needs no common scale (grad_scale.h). */
  arrays[0] = (mo_state_array){"momentum", mo_elements(shape), 0, {0}};
  return 1;
}

static double flops(const void *config_, mo_shape shape)
{
  (void)config_;
  return 10.0 * (double)mo_elements(shape);
}

typedef struct numbers {
  double beta1, beta2, eps, keep, lr;
} numbers;

MO_CLONES static void step(numbers n, size_t count, const float *restrict grad,
                           float *restrict momentum, float *restrict value)
{
  const double add1 = 1.0 - n.beta1, add2 = 1.0 - n.beta2;
#pragma omp simd
  for (size_t i = 0; i < count; i++) {
    const double g = (double)grad[i], m = (double)momentum[i];
    const double mix = n.beta1 * m + add1 * g;
    const double sign = (mix > n.eps ? 1.0 : 0.0) - (mix < -n.eps ? 1.0 : 0.0);
    value[i] = mo_nearest_float(n.keep * (double)value[i] - n.lr * sign);
    momentum[i] = (float)(n.beta2 * m + add2 * g);
  }
}

static void update(const void *config_, const mo_update *u)
{
  const config *c = config_;
  const numbers n = {.beta1 = c->beta1,
                     .beta2 = c->beta2,
                     .eps = c->eps,
                     .keep = 1.0 - c->lr * c->weight_decay,
                     .lr = c->lr};
  step(n, mo_elements(u->shape), u->grad, u->state[0], u->value);
  mo_note(u->telemetry, MO_UPDATE_RMS, 1.0);
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
