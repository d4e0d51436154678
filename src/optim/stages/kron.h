/* kron.h - what other stages may know of the Kronecker-factored preconditioner. */
#ifndef MOUSSE_OPTIM_STAGES_KRON_H
#define MOUSSE_OPTIM_STAGES_KRON_H

#include "optim/stages/fused.h"

/* The side that the options `sides`, `block` and `max_precond_dim` make of rows or columns;
 * size 0: it is not preconditioned. */
mo_side mo_kron_side(const mo_stage_options *o, mo_shape shape, bool right);

/* Whether the orthogonaliser does kron's products in its own way. */
bool mo_kron_fused(const mo_stage_options *o, mo_shape shape);

/* The roots in kron's state, for the orthogonaliser. */
mo_fused mo_kron_roots(const mo_stage_options *o, mo_shape shape, float *const *state);

#endif
