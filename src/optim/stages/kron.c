/* kron.c - whitening by roots of Kronecker-factored statistics.
 *
 *     L <- beta L + (1 - beta) G G^T      R <- beta R + (1 - beta) G^T G
 *     every refresh_every steps, from the first on:   P_L = L~^-alpha, P_R = R~^-alpha
 *         (a long side, once its statistics are full, every refresh_long-th time)
 *     X = P_L X0 P_R                      again, for outer: U = P_L N P_R
 *
 * L~ is L corrected, normalised and damped as root.h says. The statistics of a side that is not
 * used are not kept. With the fused form the products are the orthogonaliser's (fused.h).
 */
#include "optim/stages/kron.h"

#include "optim/averages.h"

#include <math.h>
#include <string.h>

enum {
  LONG_SIDE = 768,
  MEMORIES = 2, /* of 1 / (1 - beta) steps, after which the statistics count as full */
};

/* Factors that are made from each other: one alone is nothing. */
static bool needs_both(const mo_stage_options *o)
{
  return o->inner == MO_INNER_FISHER || o->inner == MO_INNER_KL;
}

/* An eigenbasis, and a factor of those that need both, is of a side that is not cut. */
static bool takes_blocks(const mo_stage_options *o)
{
  return o->inner == MO_INNER_KRON || o->inner == MO_INNER_SUM;
}

mo_side mo_kron_side(const mo_stage_options *o, mo_shape shape, bool right)
{
  const bool small_is_right =
      shape.cols < shape.rows || (shape.cols == shape.rows && o->sides == MO_SIDES_SMALL_RIGHT);
  const bool used = o->sides == MO_SIDES_BOTH || needs_both(o) ||
                    o->sides == (right ? MO_SIDES_RIGHT : MO_SIDES_LEFT) ||
                    (o->sides >= MO_SIDES_SMALL && right == small_is_right);
  const mo_side side = mo_side_make(shape, right, takes_blocks(o) ? (size_t)o->block : 0);
  const bool short_enough =
      o->max_precond_dim == 0.0 || (double)side.size <= o->max_precond_dim;
  return used && short_enough ? side : (mo_side){.right = right};
}

static mo_fused sides_of(const mo_stage_options *o, mo_shape shape)
{
  return (mo_fused){.shape = shape,
                    .set = (mo_newton_schulz_set)o->newton_schulz,
                    .schatten4 = o->divisor == MO_SCHATTEN4,
                    .left = mo_kron_side(o, shape, false),
                    .right = mo_kron_side(o, shape, true)};
}

enum { LEFT, RIGHT, LEFT_BASIS, RIGHT_BASIS, ARRAYS };

mo_fused mo_kron_roots(const mo_stage_options *o, mo_shape shape, float *const *state)
{
  mo_fused roots = sides_of(o, shape);
  roots.left_pair = state[LEFT];
  roots.right_pair = state[RIGHT];
  return roots;
}

bool mo_kron_fused(const mo_stage_options *o, mo_shape shape)
{
  const mo_fused f = sides_of(o, shape);
  /* By fixed options alone: the roots of the fused form are others. */
  const bool possible = o->outer != 0.0 && o->ortho == MO_ORTHO_ON && f.set != MO_EXACT &&
                        o->post == MO_POST_NONE;
  return possible &&
         (o->form == MO_FORM_FUSED || (o->form == MO_FORM_AUTO && mo_fused_pays(&f)));
}

size_t mo_kron_layout(const mo_stage_options *o, mo_shape shape, mo_state_array *arrays)
{
  const mo_side left = mo_kron_side(o, shape, false), right = mo_kron_side(o, shape, true);
  const mo_refresh method = (mo_refresh)o->refresh;
  arrays[LEFT] = (mo_state_array){"left", mo_pair_floats(left), 2, left};
  arrays[RIGHT] = (mo_state_array){"right", mo_pair_floats(right), 2, right};
  arrays[LEFT_BASIS] =
      (mo_state_array){"left_basis", mo_root_basis_floats(method, left), 0, {0}};
  arrays[RIGHT_BASIS] =
      (mo_state_array){"right_basis", mo_root_basis_floats(method, right), 0, {0}};
  return ARRAYS;
}

/* A pseudo-inverse needs the eigenvalues. */
static mo_refresh method_of(const mo_stage_options *o)
{
  return o->damping == MO_DAMP_PSEUDO ? MO_REFRESH_EIGH : (mo_refresh)o->refresh;
}

static size_t side_floats(const mo_stage_options *o, mo_side side)
{
  const size_t copy =
      o->stats_of == MO_OF_MOMENTUM ? mo_scratch_floats(mo_pair_floats(side)) : 0;
  return copy + mo_root_work_floats(method_of(o), side);
}

size_t mo_kron_work_floats(const mo_stage_options *o, mo_shape shape)
{
  return mo_larger(side_floats(o, mo_kron_side(o, shape, false)),
                   side_floats(o, mo_kron_side(o, shape, true)));
}

/* Steps between two roots of a side. Long sides take most of the time of all refreshes. */
static double period_of(const mo_stage_options *o, mo_side side)
{
  return side.block >= LONG_SIDE ? o->refresh_every * fmax(o->refresh_long, 1.0)
                                 : o->refresh_every;
}

/* While the moving average still fills, it changes too much for a longer period. */
static bool is_due(const mo_step *s, mo_side side)
{
  const mo_stage_options *o = s->o;
  const bool full = (double)s->u->step * (1.0 - mo_stats_beta(o)) > MEMORIES;
  return mo_due(s->u, full ? period_of(o, side) : o->refresh_every, o->stagger != 0.0);
}

static double root_flops(const mo_stage_options *o, mo_side side)
{
  return 30.0 * (double)side.block * (double)side.block * (double)side.size /
         period_of(o, side);
}

/* Statistics and roots, and the products unless they are the orthogonaliser's to count. */
static double flops(const mo_stage_options *o, mo_shape shape)
{
  const mo_side left = mo_kron_side(o, shape, false), right = mo_kron_side(o, shape, true);
  const double along = (double)left.block + (double)right.block;
  const double roots = root_flops(o, left) + root_flops(o, right);
  const bool fused = o->inner == MO_INNER_KRON && mo_kron_fused(o, shape);
  const double products = fused ? 0.0 : o->outer != 0.0 ? 4.0 : 2.0;
  return (1.0 + products) * (double)mo_elements(shape) * along + roots;
}

/* alpha, or 2 alpha for the long side of the fused form, which wants P^2. */
static double power_of(const mo_step *s, mo_side side)
{
  const bool is_long = side.right == mo_is_wide(s->u->shape);
  return s->fused && is_long ? 2.0 * s->o->alpha : s->o->alpha;
}

/* With statistics of the momentum the one that is about to be whitened counts 1 + beta times, as
 * PMuon has it. After the step there is none: x is the update then. */
static bool counts_twice(const mo_stage_options *o)
{
  return o->stats_of == MO_OF_MOMENTUM && o->stats_when == MO_WHEN_BEFORE;
}

/* One side's root, when it is due; what counts twice is added once more in a copy. */
static void renew(mo_step *s, mo_side side, float *pair, float *basis)
{
  const mo_stage_options *o = s->o;
  const mo_update *u = s->u;
  if (side.size == 0 || !(u->changed || is_due(s, side))) return;
  const mo_root_rule rule = {
      .power = power_of(s, side),
      .correction = mo_bias_correction(o->bias_correction, mo_stats_beta(o), u->step),
      .grad_scale = u->grad_scale,
      .trace_norm = o->trace_norm != 0.0,
      .damping = (mo_damping)o->damping,
      .eps = o->eps,
      .method = method_of(o),
      .tolerance = o->refresh_tol,
      .spanned = mo_spanned(u)};
  float *work = s->work, *root = pair;
  if (counts_twice(o)) {
    root = mo_scratch_take(&work, mo_pair_floats(side));
    memcpy(root, pair, mo_pair_floats(side) * sizeof *root);
    mo_side_average(side, u->shape, s->x, mo_stats_beta(o), u->step, root);
  }
  mo_root_refresh(side, &rule, root, basis, work, u->counts, u->telemetry);
  if (root != pair) mo_side_copy_root(side, root, pair);
}

static void renew_both(mo_step *s)
{
  renew(s, mo_kron_side(s->o, s->u->shape, false), s->state[LEFT], s->state[LEFT_BASIS]);
  renew(s, mo_kron_side(s->o, s->u->shape, true), s->state[RIGHT], s->state[RIGHT_BASIS]);
}

/* Statistics of what comes in, and the roots now or after the step. */
void mo_kron_observe(mo_step *s)
{
  const mo_shape shape = s->u->shape;
  const mo_side left = mo_kron_side(s->o, shape, false);
  const mo_side right = mo_kron_side(s->o, shape, true);
  const float *of = s->o->stats_of == MO_OF_MOMENTUM ? s->x : s->grad;
  if (mo_first(s->u)) {
    mo_side_identity(left, s->state[LEFT]);
    mo_side_identity(right, s->state[RIGHT]);
  }
  mo_side_average(left, shape, of, mo_stats_beta(s->o), s->u->step, s->state[LEFT]);
  mo_side_average(right, shape, of, mo_stats_beta(s->o), s->u->step, s->state[RIGHT]);
  if (s->o->stats_when == MO_WHEN_BEFORE) renew_both(s);
}

void mo_kron_finish(mo_step *s)
{
  if (s->o->stats_when == MO_WHEN_AFTER) renew_both(s);
}

void mo_kron_multiply(mo_step *s, float *const *state)
{
  const mo_shape shape = s->u->shape;
  const mo_side left = mo_kron_side(s->o, shape, false),
                right = mo_kron_side(s->o, shape, true);
  if (left.size > 0) {
    float *product = mo_step_buffer(s);
    mo_side_multiply(left, shape, state[LEFT], s->x, product);
    s->x = product;
  }
  if (right.size > 0) {
    float *product = mo_step_buffer(s);
    mo_side_multiply(right, shape, state[RIGHT], s->x, product);
    s->x = product;
  }
}

static double largest_root(mo_side side, const float *pair)
{
  return side.size > 0 ? (double)mo_side_largest_root(side, pair) : 1.0;
}

/* Roots of normalised statistics are moderate; others may be as huge as statistics are tiny. */
void mo_kron_make_room(mo_step *s, float *const *state)
{
  if (s->o->trace_norm != 0.0) {
    mo_step_comfort(s, 1.0, 16);
    return;
  }
  const mo_side left = mo_kron_side(s->o, s->u->shape, false);
  const mo_side right = mo_kron_side(s->o, s->u->shape, true);
  mo_step_comfort(s, largest_root(left, state[LEFT]) * largest_root(right, state[RIGHT]), 60);
}

static void apply(mo_step *s)
{
  s->fused = mo_kron_fused(s->o, s->u->shape);
  mo_kron_observe(s);
  mo_kron_make_room(s, s->state);
  s->whitened = !s->fused;
  if (!s->fused) mo_kron_multiply(s, s->state);
}

static void again(mo_step *s)
{
  if (s->fused) return;
  mo_kron_make_room(s, s->inner_state);
  mo_kron_multiply(s, s->inner_state);
}

const mo_stage mo_stage_kron = {.layout = mo_kron_layout,
                                .work_floats = mo_kron_work_floats,
                                .flops = flops,
                                .apply = apply,
                                .again = again,
                                .finish = mo_kron_finish};
