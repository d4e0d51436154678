/* scalar_opt.h - which optimizer trains the embedding and the head. */
#ifndef MOUSSE_TRAIN_SCALAR_OPT_H
#define MOUSSE_TRAIN_SCALAR_OPT_H

#include "train/options.h"

/* The option scalar_opt, or what its 'auto' stands for. */
const char *options_scalar(const train_options *run);

/* Whether an optimizer sets singular values to one: then a learning rate says how far each row of a
 * tall matrix moves, not each element, and vectors are not for it. */
bool optimizer_orthogonalises(const char *algorithm);

#endif
