/* shampoo.c - Shampoo (arXiv:1802.09568) with moving averages and grafting.
 *
 *     L <- beta2 L + (1 - beta2) G G^T,  R likewise        statistics
 *     m <- beta1 m + (1 - beta1) G,  v <- beta2 v + (1 - beta2) G^2
 *     every refresh_every steps, from the first on:
 *         P_L = (L/(1 - beta2^t) + eps lam_max(L) I)^(-1/4),  P_R likewise
 *     U = P_L (m/(1 - beta1^t)) P_R
 *     graft: U is given the norm of Adam's step (adam), of the corrected momentum (sgd), or
 *     its own (none)
 *     W <- W (1 - lr weight_decay) - lr U
 *
 * Sides longer than max_precond_dim are not preconditioned. v is kept for graft = adam only, as
 * its root (averages.h).
 */
#include "linalg/vector.h"
#include "optim/averages.h"
#include "optim/root.h"

#include <math.h>
#include <stdlib.h>

typedef struct config {
  double lr, beta1, beta2, eps, weight_decay, refresh_every, max_precond_dim, bias_correction,
      graft, refresh, stagger;
} config;

static const char *const graft_choices[] = {"adam", "sgd", "none", NULL};
enum { GRAFT_ADAM, GRAFT_SGD };

static const mo_option options[] = {
    MO_OPTION_LR(config, 1e-3),
    MO_NUMBER(config, beta1, 0.9, 0, MO_BETA_MAX, "decay of the momentum"),
    MO_NUMBER(config, beta2, 0.95, 0, MO_BETA_MAX, "decay of the statistics"),
    MO_NUMBER(config, eps, 1e-6, 1e-12, 1, "damping, as a part of the largest eigenvalue"),
    MO_OPTION_WEIGHT_DECAY(config, 0.01),
    MO_WHOLE(config, refresh_every, 10, 1, 1e9, 0, "steps between preconditioners"),
    MO_WHOLE(config, max_precond_dim, 10000, 1, 1e6, 1, "longer sides are not preconditioned"),
    MO_SWITCH(config, bias_correction, 1, 0, "correct the averages for starting at zero"),
    MO_CHOICE(config, graft, graft_choices, GRAFT_ADAM, 1, "whose norm the update gets"),
    MO_OPTION_REFRESH(config),
    MO_OPTION_STAGGER(config),
};

enum { FIRST, ROOT_SECOND, LEFT, RIGHT, LEFT_BASIS, RIGHT_BASIS, PART_COUNT };

static mo_side side_of(const config *c, mo_shape shape, bool right)
{
  return mo_side_up_to(shape, right, (size_t)c->max_precond_dim);
}

static size_t layout(const void *config_, mo_shape shape,
                     mo_state_array arrays[MO_MAX_STATE_ARRAYS])
{
  const config *c = config_;
  const mo_side left = side_of(c, shape, false), right = side_of(c, shape, true);
  const mo_refresh method = (mo_refresh)c->refresh;
  const size_t root_second = c->graft == GRAFT_ADAM ? mo_elements(shape) : 0;
  arrays[FIRST] = (mo_state_array){"momentum", mo_elements(shape), 1, {0}};
  arrays[ROOT_SECOND] = (mo_state_array){"root_second_moment", root_second, 1, {0}};
  arrays[LEFT] = (mo_state_array){"left", mo_pair_floats(left), 2, left};
  arrays[RIGHT] = (mo_state_array){"right", mo_pair_floats(right), 2, right};
  arrays[LEFT_BASIS] =
      (mo_state_array){"left_basis", mo_root_basis_floats(method, left), 0, {0}};
  arrays[RIGHT_BASIS] =
      (mo_state_array){"right_basis", mo_root_basis_floats(method, right), 0, {0}};
  return PART_COUNT;
}

static size_t work_floats(const void *config_, mo_shape shape)
{
  const config *c = config_;
  const mo_refresh method = (mo_refresh)c->refresh;
  const size_t left = mo_root_work_floats(method, side_of(c, shape, false));
  const size_t right = mo_root_work_floats(method, side_of(c, shape, true));
  return 3 * mo_scratch_floats(mo_elements(shape)) + mo_larger(left, right);
}

static double flops(const void *config_, mo_shape shape)
{
  const config *c = config_;
  const double left = (double)side_of(c, shape, false).size;
  const double right = (double)side_of(c, shape, true).size;
  const double roots = 30.0 * (left * left * left + right * right * right) / c->refresh_every;
  return 3.0 * (double)mo_elements(shape) * (left + right) + roots;
}

/* ||correct1 m / (root_correction root_v + eps)||, the norm of Adam's step. */
static double adam_norm(size_t count, const float *first, const float *root, double correct1,
                        double root_correction, double eps)
{
  double squares = 0.0;
  for (size_t i = 0; i < count; i++) {
    const double step = correct1 * (double)first[i] / (root_correction * (double)root[i] + eps);
    squares += step * step;
  }
  return sqrt(squares);
}

static double correction(const config *c, double beta, uint64_t step)
{
  return mo_bias_correction(c->bias_correction, beta, step);
}

static void precondition(const config *c, mo_side side, const mo_update *u, const float *grad,
                         float *pair, float *basis, float *work)
{
  if (side.size == 0) return;
  mo_side_average(side, u->shape, grad, c->beta2, u->step, pair);
  if (u->step == 1) mo_side_identity(side, pair);
  if (!mo_due(u, c->refresh_every, c->stagger != 0.0)) return;
  const mo_root_rule rule = {.power = 0.25,
                             .correction = correction(c, c->beta2, u->step),
                             .grad_scale = u->grad_scale,
                             .damping = MO_DAMP_RELATIVE,
                             .eps = c->eps,
                             .method = (mo_refresh)c->refresh};
  mo_root_refresh(side, &rule, pair, basis, work, u->counts, u->telemetry);
}

/* What the update's norm has to be; norm is that of P_L m P_R, m on the state's scale. */
static double wanted_norm(const config *c, const mo_update *u, double norm)
{
  const size_t all = mo_elements(u->shape);
  const double correct1 = correction(c, c->beta1, u->step);
  const double correct2 = correction(c, c->beta2, u->step), grad_scale = (double)u->grad_scale;
  switch ((int)c->graft) {
  case GRAFT_ADAM:
    return adam_norm(all, u->state[FIRST], u->state[ROOT_SECOND], correct1, sqrt(correct2),
                     1e-8 * grad_scale);
  case GRAFT_SGD:
    return correct1 * sqrt(mo_sum_squares(u->state[FIRST], all)) / grad_scale;
  default:
    return correct1 * norm / grad_scale;
  }
}

static float largest_root(mo_side side, const float *pair)
{
  return side.size > 0 ? mo_side_largest_root(side, pair) : 1.0f;
}

/* The power of two that brings m times the roots near 1, when that is far from it. */
static float comfortable_scale(float *const *state, mo_side left, mo_side right, size_t count)
{
  int exponent = 0;
  frexp((double)mo_largest(state[FIRST], count) * (double)largest_root(left, state[LEFT]) *
            (double)largest_root(right, state[RIGHT]),
        &exponent);
  if (abs(exponent) <= 60) return 1.0f;
  return ldexpf(1.0f, exponent > 120 ? -120 : exponent < -120 ? 120 : -exponent);
}

static void update(const void *config_, const mo_update *u)
{
  const config *c = config_;
  const size_t all = mo_elements(u->shape);
  const mo_side left = side_of(c, u->shape, false), right = side_of(c, u->shape, true);
  float *work = u->work;
  float *spare = mo_scratch_take(&work, all), *half = mo_scratch_take(&work, all);
  float *direction = mo_scratch_take(&work, all);
  float *const *state = u->state;

  const float *grad = mo_scaled_gradient(u, spare);
  mo_average(state[FIRST], grad, all, c->beta1);
  if (c->graft == GRAFT_ADAM) mo_average_root(state[ROOT_SECOND], grad, all, c->beta2);
  precondition(c, left, u, grad, state[LEFT], state[LEFT_BASIS], work);
  precondition(c, right, u, grad, state[RIGHT], state[RIGHT_BASIS], work);

  /* Roots of tiny statistics are huge: their product with m is brought near 1 first. */
  const float comfort = comfortable_scale(state, left, right, all);
  const float *from = state[FIRST];
  if (comfort != 1.0f) {
    mo_copy_scaled(spare, from, all, comfort);
    from = spare;
  }
  if (left.size > 0) {
    mo_side_multiply(left, u->shape, state[LEFT], from, half);
    from = half;
  }
  if (right.size > 0) {
    mo_side_multiply(right, u->shape, state[RIGHT], from, direction);
    from = direction;
  }
  const double norm = sqrt(mo_sum_squares(from, all));
  const double wanted = wanted_norm(c, u, norm / (double)comfort);
  const double step = norm > 0.0 ? wanted / norm : 0.0;
  mo_apply(u->value, from, all, 1.0 - c->lr * c->weight_decay, c->lr * step);
  mo_note(u->telemetry, MO_UPDATE_RMS, wanted / sqrt((double)all));
}

const mo_algorithm mo_algorithm_shampoo = {
    .name = "shampoo",
    .help = "momentum preconditioned by inverse fourth roots of the curvature, grafted",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .config_bytes = sizeof(config),
    .refuses = mo_refuse_vectors,
    .layout = layout,
    .work_floats = work_floats,
    .flops = flops,
    .update = update,
};
