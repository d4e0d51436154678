/* run_out.h - the run directory when none is named: runs/OPTIMIZER-PRESET, or the first of
 * runs/OPTIMIZER-PRESET-2, -3, ... that is free or holds the very run that is asked for. So the
 * same command continues its run, and another one never joins it. */
#ifndef MOUSSE_TRAIN_RUN_OUT_H
#define MOUSSE_TRAIN_RUN_OUT_H

#include "train/options.h"

/* Sets run->out where neither it nor checkpoint_dir is set. Notices: of a new run, when one that is
 * there differs from it only in what was not asked for. */
mousse_status run_out_choose(train_options *run, const run_notices *notices, mo_error *error);

#endif
