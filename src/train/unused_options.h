/* unused_options.h - options that were given and change nothing, because another one is not, or
 * not what they say, because another one is. */
#ifndef MOUSSE_TRAIN_UNUSED_OPTIONS_H
#define MOUSSE_TRAIN_UNUSED_OPTIONS_H

#include "train/options.h"

/* Says each; they are no mistake, as files for several runs have them. */
void unused_options_tell(const train_options *run, const run_notices *notices);

#endif
