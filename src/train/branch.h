/* branch.h - a new run that begins where another one was at a checkpoint: the checkpoint, the
 * options, and the record up to its step are copied, and the copy is continued like any run. */
#ifndef MOUSSE_TRAIN_BRANCH_H
#define MOUSSE_TRAIN_BRANCH_H

#include "train/options.h"

/* from: RUN, RUN@STEP, RUN@best, or the directory of a checkpoint (model_files.h). out must be
 * free. The checkpoint is copied last, so a branch that was not finished is no run. */
mousse_status branch_run(const char *from, const char *out, uint64_t *step,
                         const run_notices *notices, mo_error *error);

#endif
