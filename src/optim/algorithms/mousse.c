/* mousse.c - Muon in the whitened space of Shampoo ("Mousse: Rectifying the Geometry of Muon
 * with Curvature-Aware Preconditioning", 2026).
 *
 *     M <- mu M + G                       X0 = M, or mu M + G (nesterov)
 *     L <- beta L + (1 - beta) G G^T      R <- beta R + (1 - beta) G^T G
 *     every refresh_every steps, from the first on:
 *         L~ = L/(1 - beta^t) * m/(trace + eps)           trace_norm
 *         P_L = (L~ + 2 eps)^-alpha                       R likewise
 *     N = NS(P_L X0 P_R)                  whiten, orthogonalise
 *     U = P_L N P_R                       unwhiten (outer)
 *     U <- ||N|| U/||U||                  graft
 *     W <- W (1 - lr weight_decay) - lr shape(m, n) U
 *
 * Why: Muon treats every direction of the momentum alike; whitening first makes "alike" mean
 * alike in curvature, and the graft keeps Muon's step length. The statistics of a side that
 * is not used (`sides`) are not kept.
 */
#include "optim/averages.h"
#include "optim/momentum.h"
#include "optim/root.h"
#include "optim/spectral.h"

typedef struct config {
  double lr, mu, beta, alpha, eps, refresh_every, trace_norm, graft, sides, nesterov, outer,
      bias_correction, newton_schulz, shape, weight_decay, block, form, refresh, stagger;
} config;

static const char *const side_choices[] = {"both", "left", "right", "small", NULL};
enum { SIDES_BOTH, SIDES_LEFT, SIDES_RIGHT, SIDES_SMALL };
static const char *const form_choices[] = {"auto", "plain", "fused", NULL};
enum { FORM_AUTO, FORM_PLAIN, FORM_FUSED };

static const mo_option options[] = {
    MO_OPTION_LR(config, 0.02),
    MO_OPTION_MU(config),
    MO_NUMBER(config, beta, 0.95, 0, MO_BETA_MAX, "decay of the curvature statistics"),
    MO_NUMBER(config, alpha, 0.125, 0, 0.5, "power of the whitening; 0 whitens nothing"),
    MO_NUMBER(config, eps, 1e-5, 1e-10, 1e3, "damping of the normalised statistics"),
    MO_WHOLE(config, refresh_every, 10, 1, 1e9, 0, "steps between preconditioners"),
    MO_SWITCH(config, trace_norm, 1, 0, "scale the statistics to the trace of the identity"),
    MO_SWITCH(config, graft, 1, 0, "give the update the norm it had before unwhitening"),
    MO_CHOICE(config, sides, side_choices, SIDES_BOTH, 1,
              "preconditioned sides: rows (left), columns (right), the shorter one (small)"),
    MO_OPTION_NESTEROV(config, 0),
    MO_SWITCH(config, outer, 1, 1, "unwhiten after orthogonalising"),
    MO_SWITCH(config, bias_correction, 1, 0, "correct the statistics for starting at zero"),
    MO_OPTION_NEWTON_SCHULZ(config),
    MO_OPTION_SHAPE(config),
    MO_OPTION_WEIGHT_DECAY(config, 0.01),
    MO_WHOLE(config, block, 0, 0, 1e6, 1,
             "cut longer sides into blocks of this size; 0: never"),
    MO_CHOICE(config, form, form_choices, FORM_AUTO, 1,
              "plain as written, fused with the long side multiplied once, or the cheaper"),
    MO_OPTION_REFRESH(config),
    MO_OPTION_STAGGER(config),
};

static mo_spectral pipeline(const config *c, mo_shape shape)
{
  const int sides = (int)c->sides;
  const bool small_is_left = shape.rows <= shape.cols;
  const bool left =
      sides == SIDES_BOTH || sides == SIDES_LEFT || (sides == SIDES_SMALL && small_is_left);
  const bool right =
      sides == SIDES_BOTH || sides == SIDES_RIGHT || (sides == SIDES_SMALL && !small_is_left);
  mo_spectral p = {.shape = shape,
                   .set = (mo_newton_schulz_set)c->newton_schulz,
                   .left = left ? mo_side_make(shape, false, (size_t)c->block) : (mo_side){0},
                   .right = right ? mo_side_make(shape, true, (size_t)c->block)
                                  : (mo_side){.right = true},
                   .outer = c->outer != 0.0,
                   .graft = c->graft != 0.0};
  p.fused = c->form == FORM_AUTO ? mo_spectral_fused_pays(&p)
                                 : c->form == FORM_FUSED && mo_spectral_fused_possible(&p);
  return p;
}

enum { MOMENTUM, LEFT, RIGHT, LEFT_BASIS, RIGHT_BASIS, PART_COUNT };

static size_t layout(const void *config_, mo_shape shape,
                     mo_state_array arrays[MO_MAX_STATE_ARRAYS])
{
  const config *c = config_;
  const mo_spectral p = pipeline(c, shape);
  const mo_refresh method = (mo_refresh)c->refresh;
  arrays[MOMENTUM] = (mo_state_array){"momentum", mo_elements(shape), 1, {0}};
  arrays[LEFT] = (mo_state_array){"left", mo_pair_floats(p.left), 2, p.left};
  arrays[RIGHT] = (mo_state_array){"right", mo_pair_floats(p.right), 2, p.right};
  arrays[LEFT_BASIS] =
      (mo_state_array){"left_basis", mo_root_basis_floats(method, p.left), 0, {0}};
  arrays[RIGHT_BASIS] =
      (mo_state_array){"right_basis", mo_root_basis_floats(method, p.right), 0, {0}};
  return PART_COUNT;
}

static size_t work_floats(const void *config_, mo_shape shape)
{
  const config *c = config_;
  const mo_spectral p = pipeline(c, shape);
  const mo_refresh method = (mo_refresh)c->refresh;
  const size_t refresh =
      mo_larger(mo_root_work_floats(method, p.left), mo_root_work_floats(method, p.right));
  return 2 * mo_scratch_floats(mo_elements(shape)) + mo_larger(refresh, mo_spectral_floats(&p));
}

static double flops(const void *config_, mo_shape shape)
{
  const config *c = config_;
  const mo_spectral p = pipeline(c, shape);
  const double left = (double)p.left.block, right = (double)p.right.block;
  const double average = (double)mo_elements(shape) * (left + right);
  const double refresh =
      30.0 * (left * left * (double)p.left.size + right * right * (double)p.right.size) /
      c->refresh_every;
  return mo_spectral_flops(&p) + average + refresh;
}

/* One side's statistics, and its root when it is due. */
static void precondition(const config *c, const mo_spectral *p, mo_side side,
                         const mo_update *u, const float *grad, float *pair, float *basis,
                         float *work)
{
  if (side.size == 0) return;
  mo_side_average(side, u->shape, grad, c->beta, u->step, pair);
  if (u->step == 1) mo_side_identity(side, pair);
  if (!mo_due(u, c->refresh_every, c->stagger != 0.0)) return;
  const mo_root_rule rule = {.power = mo_spectral_power(p, side, c->alpha),
                             .correction =
                                 mo_bias_correction(c->bias_correction, c->beta, u->step),
                             .grad_scale = u->grad_scale,
                             .trace_norm = c->trace_norm != 0.0,
                             .damping = MO_DAMP_ABSOLUTE,
                             .eps = c->eps,
                             .method = (mo_refresh)c->refresh};
  mo_root_refresh(side, &rule, pair, basis, work, u->counts, u->telemetry);
}

static void update(const void *config_, const mo_update *u)
{
  const config *c = config_;
  const mo_spectral p = pipeline(c, u->shape);
  const size_t all = mo_elements(u->shape);
  float *work = u->work;
  float *direction = mo_scratch_take(&work, all), *spare = mo_scratch_take(&work, all);
  float *const *state = u->state;

  const float *grad = mo_scaled_gradient(u, spare);
  precondition(c, &p, p.left, u, grad, state[LEFT], state[LEFT_BASIS], work);
  precondition(c, &p, p.right, u, grad, state[RIGHT], state[RIGHT_BASIS], work);
  const float *x0 = mo_momentum(state[MOMENTUM], grad, all, c->mu, c->nesterov != 0.0, spare);
  mo_spectral_update(&p, x0, state[LEFT], state[RIGHT], 1e-7 * (double)u->grad_scale, direction,
                     work, u->counts, u->telemetry);
  mo_spectral_step(u, direction, c->lr, c->weight_decay, c->shape);
}

const mo_algorithm mo_algorithm_mousse = {
    .name = "mousse",
    .help = "momentum whitened by Kronecker-factored curvature, orthogonalised, brought back",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .config_bytes = sizeof(config),
    .refuses = mo_refuse_vectors,
    .layout = layout,
    .work_floats = work_floats,
    .flops = flops,
    .update = update,
};
