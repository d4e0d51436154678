/* sgd.c - stochastic gradient descent with momentum.
 *
 *     M <- mu M + G
 *     W <- W (1 - lr weight_decay) - lr (M, or with nesterov mu M + G)
 *
 * The only algorithm here whose step is as large as its gradient: with gradients near the end
 * of float's range the weights stop at the largest float instead of becoming infinite.
 */
#include "linalg/vector.h"
#include "optim/algorithm.h"
#include "optim/momentum.h"
#include "optim/telemetry.h"

#include <math.h>

typedef struct sgd_config {
  double lr, mu, nesterov, weight_decay;
} sgd_config;

static const mo_option options[] = {
    MO_OPTION_LR(sgd_config, 0.01),
    MO_NUMBER(sgd_config, mu, 0.9, 0, MO_BETA_MAX, "decay of the momentum; 0: none"),
    MO_SWITCH(sgd_config, nesterov, 0, 0, "look ahead: momentum plus the newest gradient"),
    MO_OPTION_WEIGHT_DECAY(sgd_config, 0),
};

static size_t layout(const void *config_, mo_shape shape,
                     mo_state_array arrays[MO_MAX_STATE_ARRAYS])
{
  (void)config_;
  arrays[0] = (mo_state_array){"momentum", mo_elements(shape), 1, {0}};
  return 1;
}

static size_t work_floats(const void *config_, mo_shape shape)
{
  (void)config_;
  return mo_scratch_floats(mo_elements(shape));
}

static double flops(const void *config_, mo_shape shape)
{
  (void)config_;
  return 6.0 * (double)mo_elements(shape);
}

static void update(const void *config_, const mo_update *u)
{
  const sgd_config *c = config_;
  const size_t count = mo_elements(u->shape);
  const float *grad = mo_scaled_gradient(u, u->work);
  const float *direction =
      mo_momentum(u->state[0], grad, count, c->mu, 1.0, c->nesterov != 0.0, u->work);
  mo_apply(u->value, direction, count, 1.0 - c->lr * c->weight_decay,
           c->lr / (double)u->grad_scale);
  if (u->telemetry != NULL)
    mo_note(u->telemetry, MO_UPDATE_RMS,
            sqrt(mo_sum_squares(direction, count) / (double)count) / (double)u->grad_scale);
}

const mo_algorithm mo_algorithm_sgd = {
    .name = "sgd",
    .help = "gradient descent with momentum",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .config_bytes = sizeof(sgd_config),
    .layout = layout,
    .work_floats = work_floats,
    .flops = flops,
    .element_wise = true,
    .update = update,
};
