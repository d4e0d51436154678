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
#include "optim/averages.h"
#include "optim/telemetry.h"

#include <float.h>

typedef struct lion_config {
  double lr, beta1, beta2, eps, weight_decay;
} lion_config;

static const mo_option options[] = {
    MO_OPTION_LR(lion_config, 1e-4),
    MO_NUMBER(lion_config, beta1, 0.95, 0, MO_BETA_MAX, "weight of the momentum in the step"),
    MO_NUMBER(lion_config, beta2, 0.98, 0, MO_BETA_MAX, "decay of the momentum"),
    MO_NUMBER(lion_config, eps, 0, 0, 1e3,
              "elements this close to 0 are not moved; 0: as published"),
    MO_OPTION_WEIGHT_DECAY(lion_config, 0.01),
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

typedef struct lion_numbers {
  mo_split beta1, beta2;
  float eps, decay, lr;
} lion_numbers;

MO_CLONES(static void step(lion_numbers n, size_t count, const float *restrict grad,
                           float *restrict momentum, float *restrict value))
{
  const mo_split one = n.beta1, two = n.beta2;
#pragma omp simd
  for (size_t i = 0; i < count; i++) {
    const float g = grad[i], m = momentum[i], w = value[i];
    const float mix = one.high * m + (one.low * m + one.add * g);
    const float sign = (mix > n.eps ? 1.0f : 0.0f) - (mix < -n.eps ? 1.0f : 0.0f);
    const float moved = w - (n.decay * w + n.lr * sign);
    const float below = moved > FLT_MAX ? FLT_MAX : moved;
    value[i] = below < -FLT_MAX ? -FLT_MAX : below;
    momentum[i] = two.high * m + (two.low * m + two.add * g);
  }
}

static void update(const void *config_, const mo_update *u)
{
  const lion_config *c = config_;
  const lion_numbers n = {.beta1 = mo_split_beta(c->beta1),
                          .beta2 = mo_split_beta(c->beta2),
                          .eps = (float)c->eps,
                          .decay = (float)(c->lr * c->weight_decay),
                          .lr = (float)c->lr};
  step(n, mo_elements(u->shape), u->grad, u->state[0], u->value);
  mo_note(u->telemetry, MO_UPDATE_RMS, 1.0);
}

const mo_algorithm mo_algorithm_lion = {
    .name = "lion",
    .help = "sign of an interpolated momentum; half the memory of adamw",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .config_bytes = sizeof(lion_config),
    .layout = layout,
    .flops = flops,
    .element_wise = true,
    .update = update,
};
