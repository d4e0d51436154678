/* choices.c - names of the stages' choices, in the order of options.h, and the stages that are
 * themselves a choice. */
#include "optim/stages/options.h"

const char *const mo_mu_names[] = {"constant", "warmup", "cycle", NULL};
const char *const mo_kernel_names[] = {"single", "two", "many", NULL};
const char *const mo_inner_names[] = {"none", "sign",     "diag", "kron",    "sum", "fisher",
                                      "rms",  "sinkhorn", "rows", "columns", "kl",  NULL};
const char *const mo_side_names[] = {"both", "left", "right", "small", NULL};
const char *const mo_form_names[] = {"auto", "plain", "fused", NULL};
const char *const mo_of_names[] = {"gradient", "momentum", NULL};
const char *const mo_when_names[] = {"before", "after", NULL};
const char *const mo_floors_names[] = {"relative", "absolute", NULL};
const char *const mo_ortho_names[] = {"newton_schulz", "none", "topk", "low_rank", NULL};
const char *const mo_divisor_names[] = {"frobenius", "schatten4", NULL};
const char *const mo_order_names[] = {"momentum_first", "polar_first", NULL};
const char *const mo_post_names[] = {"none", "rows", "element", "scalar", NULL};
const char *const mo_axis_names[] = {"rows", "long", NULL};
const char *const mo_moment_names[] = {"adam", "sgd", "none", NULL};
const char *const mo_norm_names[] = {"keep",     "sqrt_min", "sqrt_rows", "rms",
                                     "relative", "nuclear",  NULL};
const char *const mo_decay_names[] = {"decoupled", "corrected", "independent", "cautious",
                                      NULL};
const char *const mo_radius_names[] = {"free", "brake", "pin", "ball", "brake_pin", NULL};
const char *const mo_floor_names[] = {"none", "matrix", "row", NULL};

static const mo_stage *pick_inner(const mo_stage_options *o)
{
  static const mo_stage *const stages[] = {
      [MO_INNER_NONE] = NULL,
      [MO_INNER_SIGN] = &mo_stage_sign,
      [MO_INNER_DIAG] = &mo_stage_diag,
      [MO_INNER_KRON] = &mo_stage_kron,
      [MO_INNER_SUM] = &mo_stage_sum,
      [MO_INNER_FISHER] = &mo_stage_fisher,
      [MO_INNER_RMS] = &mo_stage_eigen_rms,
      [MO_INNER_SINKHORN] = &mo_stage_eigen_sinkhorn,
      [MO_INNER_ROWS] = &mo_stage_equilibrate,
      [MO_INNER_COLUMNS] = &mo_stage_equilibrate,
      [MO_INNER_KL] = &mo_stage_kl,
  };
  return stages[(size_t)o->inner];
}

const mo_stage mo_stage_inner = {.pick = pick_inner};

static const mo_stage *pick_ortho(const mo_stage_options *o)
{
  static const mo_stage *const stages[] = {
      [MO_ORTHO_ON] = &mo_stage_orthogonal,
      [MO_ORTHO_OFF] = NULL,
      [MO_ORTHO_TOPK] = &mo_stage_topk,
      [MO_ORTHO_LOW_RANK] = &mo_stage_subspace,
  };
  return stages[(size_t)o->ortho];
}

const mo_stage mo_stage_ortho = {.pick = pick_ortho};

static const mo_stage *pick_post(const mo_stage_options *o)
{
  static const mo_stage *const stages[] = {
      [MO_POST_NONE] = NULL,
      [MO_POST_ROWS] = &mo_stage_rows,
      [MO_POST_ELEMENT] = &mo_stage_element,
      [MO_POST_SCALAR] = &mo_stage_scalar,
  };
  return stages[(size_t)o->post];
}

const mo_stage mo_stage_post = {.pick = pick_post};

static const mo_stage *pick_former(const mo_stage_options *o)
{
  return o->order == MO_POLAR_FIRST ? &mo_stage_orthogonal : &mo_stage_momentum;
}

static const mo_stage *pick_latter(const mo_stage_options *o)
{
  return o->order == MO_POLAR_FIRST ? &mo_stage_momentum : &mo_stage_orthogonal;
}

const mo_stage mo_stage_former = {.pick = pick_former};
const mo_stage mo_stage_latter = {.pick = pick_latter};
