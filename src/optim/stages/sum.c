/* sum.c - CASPR's inner preconditioner: the sum of both sides' roots in place of their product.
 *
 *     S(X) = P_L X + X P_R      X = S(S(X0)) = P_L^2 X0 + 2 P_L X0 P_R + X0 P_R^2
 *
 * with the statistics and roots of kron.c. Once more for outer: the operator is symmetric.
 */
#include "linalg/vector.h"
#include "optim/stages/kron.h"

/* s->x <- P_L x + x P_R; a side that is not preconditioned has P = I. */
static void spread(mo_step *s, float *const *state)
{
  const mo_fused roots = mo_kron_roots(s->o, s->u->shape, state);
  float *left = mo_step_buffer(s), *right = mo_step_buffer_beside(s, left);
  if (roots.left.size > 0)
    mo_side_multiply(roots.left, s->u->shape, roots.left_pair, s->x, left);
  else
    mo_copy_scaled(left, s->x, s->count, 1.0f);
  if (roots.right.size > 0)
    mo_side_multiply(roots.right, s->u->shape, roots.right_pair, s->x, right);
  else
    mo_copy_scaled(right, s->x, s->count, 1.0f);
  mo_accumulate(left, right, s->count);
  s->x = left;
}

static void spread_twice(mo_step *s, float *const *state)
{
  mo_kron_make_room(s, state);
  spread(s, state);
  mo_kron_make_room(s, state);
  spread(s, state);
}

static void apply(mo_step *s)
{
  mo_kron_observe(s);
  spread_twice(s, s->state);
  s->whitened = true;
}

static void again(mo_step *s)
{
  spread_twice(s, s->inner_state);
}

static double flops(const mo_stage_options *o, mo_shape shape)
{
  return 2.0 * mo_stage_kron.flops(o, shape);
}

const mo_stage mo_stage_sum = {.layout = mo_kron_layout,
                               .work_floats = mo_kron_work_floats,
                               .flops = flops,
                               .apply = apply,
                               .again = again,
                               .finish = mo_kron_finish};
