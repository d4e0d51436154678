/* choices.c - names of the stages' choices, in the order of options.h, and the stages that are
 * themselves a choice. */
#include "optim/stages/options.h"

const char *const mo_side_names[] = {"both", "left", "right", "small", NULL};
const char *const mo_form_names[] = {"auto", "plain", "fused", NULL};
const char *const mo_axis_names[] = {"rows", "long", NULL};
const char *const mo_moment_names[] = {"adam", "sgd", "none", NULL};
const char *const mo_post_names[] = {"none", "rows", NULL};

static const mo_stage *pick_inner(const mo_stage_options *o)
{
  static const mo_stage *const stages[] = {
      [MO_INNER_NONE] = NULL,
      [MO_INNER_KRON] = &mo_stage_kron,
      [MO_INNER_ADAM] = &mo_stage_eigen_adam,
  };
  return stages[(size_t)o->inner];
}

const mo_stage mo_stage_inner = {.pick = pick_inner};

static const mo_stage *pick_post(const mo_stage_options *o)
{
  static const mo_stage *const stages[] = {
      [MO_POST_NONE] = NULL,
      [MO_POST_ROWS] = &mo_stage_rows,
  };
  return stages[(size_t)o->post];
}

const mo_stage mo_stage_post = {.pick = pick_post};
