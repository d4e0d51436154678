/* muon.c - Muon: momentum, orthogonalised (Jordan et al., 2024).
 *
 *     M <- mu M + G                X0 = mu M + G (nesterov), or M
 *     U = NS(X0)                   all singular values to about 1
 *     W <- W (1 - lr weight_decay) - lr shape(m, n) U
 */
#include "optim/algorithm.h"
#include "optim/momentum.h"
#include "optim/spectral.h"

typedef struct config {
  double lr, mu, nesterov, newton_schulz, shape, weight_decay;
} config;

static const mo_option options[] = {
    MO_OPTION_LR(config, 0.02),    MO_OPTION_MU(config),
    MO_OPTION_NESTEROV(config, 1), MO_OPTION_NEWTON_SCHULZ(config),
    MO_OPTION_SHAPE(config),       MO_OPTION_WEIGHT_DECAY(config, 0.01),
};

static mo_spectral pipeline(const config *c, mo_shape shape)
{
  mo_spectral p = {.shape = shape,
                   .set = (mo_newton_schulz_set)c->newton_schulz,
                   .right = {.right = true},
                   .outer = true};
  p.fused = mo_spectral_fused_pays(&p);
  return p;
}

static size_t layout(const void *config_, mo_shape shape,
                     mo_state_array arrays[MO_MAX_STATE_ARRAYS])
{
  (void)config_;
  arrays[0] = (mo_state_array){"momentum", mo_elements(shape), 1, {0}};
  return 1;
}

static size_t work_floats(const void *config_, mo_shape shape)
{
  const mo_spectral p = pipeline(config_, shape);
  return 2 * mo_scratch_floats(mo_elements(shape)) + mo_spectral_floats(&p);
}

static double flops(const void *config_, mo_shape shape)
{
  const mo_spectral p = pipeline(config_, shape);
  return mo_spectral_flops(&p);
}

static void update(const void *config_, const mo_update *u)
{
  const config *c = config_;
  const mo_spectral p = pipeline(c, u->shape);
  const size_t all = mo_elements(u->shape);
  float *work = u->work;
  float *direction = mo_scratch_take(&work, all), *spare = mo_scratch_take(&work, all);

  const float *grad = mo_scaled_gradient(u, spare);
  const float *x0 = mo_momentum(u->state[0], grad, all, c->mu, c->nesterov != 0.0, spare);
  mo_spectral_update(&p, x0, NULL, NULL, 1e-7 * (double)u->grad_scale, direction, work,
                     u->counts, u->telemetry);
  mo_spectral_step(u, direction, c->lr, c->weight_decay, c->shape);
}

const mo_algorithm mo_algorithm_muon = {
    .name = "muon",
    .help = "momentum with its singular values set to one",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .config_bytes = sizeof(config),
    .refuses = mo_refuse_vectors,
    .layout = layout,
    .work_floats = work_floats,
    .flops = flops,
    .update = update,
};
