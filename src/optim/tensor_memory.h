/* tensor_memory.h - the memory that tensors lie in: theirs alone, and movable.
 *
 * A value may be in no other value and no gradient: one tensor updated twice would be decayed
 * and stepped twice, and a gradient would change while it is read. Gradients may share memory
 * with gradients. */
#ifndef MOUSSE_OPTIM_TENSOR_MEMORY_H
#define MOUSSE_OPTIM_TENSOR_MEMORY_H

#include "optim/optimizer.h"

/* Refuses addresses at which no number of the type can lie. */
mousse_status mo_memory_check(mousse_optimizer *opt, const char *name, mo_storage s);

/* Takes the memory of a tensor into the sets of what is in use, all of it or, when another has
 * it, nothing. */
mousse_status mo_memory_occupy(mousse_optimizer *opt, const mo_tensor *t, mo_storage s);

/* Points the parameters of a tensor at their places in its memory. */
void mo_memory_point(mousse_optimizer *opt, const mo_tensor *t, void *value, const void *grad);

#endif
