/* kron.h - what other stages may know of the Kronecker-factored preconditioner. */
#ifndef MOUSSE_OPTIM_STAGES_KRON_H
#define MOUSSE_OPTIM_STAGES_KRON_H

#include "optim/stages/fused.h"

/* The side that the options `sides`, `block` and `max_precond_dim` make of rows or columns, as far
 * as the inner preconditioner follows them; size 0: it is not preconditioned. Memory and work of a
 * stage both go by it. */
mo_side mo_kron_side(const mo_stage_options *o, mo_shape shape, bool right);

/* For relatives that share kron's four arrays: the arrays and the workspace; statistics and roots as kron has them, the
 * latter at the end with stats_when = after, for which such a stage has kron's finish; x brought to a size that the roots
 * take; x <- P_L x P_R. */
size_t mo_kron_layout(const mo_stage_options *o, mo_shape shape, mo_state_array *arrays);
size_t mo_kron_work_floats(const mo_stage_options *o, mo_shape shape);
void mo_kron_observe(mo_step *s);
void mo_kron_finish(mo_step *s);
void mo_kron_make_room(mo_step *s, float *const *state);
void mo_kron_multiply(mo_step *s, float *const *state);

/* Whether the orthogonaliser does kron's products in its own way. */
bool mo_kron_fused(const mo_stage_options *o, mo_shape shape);

/* The roots in kron's state, for the orthogonaliser. */
mo_fused mo_kron_roots(const mo_stage_options *o, mo_shape shape, float *const *state);

#endif
