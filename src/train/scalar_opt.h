/* scalar_opt.h - which optimizer trains the embedding and the head. */
#ifndef MOUSSE_TRAIN_SCALAR_OPT_H
#define MOUSSE_TRAIN_SCALAR_OPT_H

#include "train/options.h"

/* The option scalar_opt, or what its 'auto' stands for. */
const char *options_scalar(const train_options *run);

#endif
