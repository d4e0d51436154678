/* inputs.h - what an algorithm wants from the caller beside the gradient. */
#ifndef MOUSSE_OPTIM_INPUTS_H
#define MOUSSE_OPTIM_INPUTS_H

#include "optim/optimizer.h"

mo_shape mo_input_shape(mo_shape param, const mousse_input *input);

/* Before a step: everything needed is bound, and everything bound is finite. The sentence names
 * the parameter and the input. */
mousse_status mo_check_inputs(mousse_optimizer *opt);

#endif
