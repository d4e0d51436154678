/* rank_checks.h - the ranks of a run before its first step: how the batch is divided, and whether
 * all of them are about to do the same. */
#ifndef MOUSSE_TRAIN_RANK_CHECKS_H
#define MOUSSE_TRAIN_RANK_CHECKS_H

#include "train/options.h"

/* [collective] Refuses ranks that run another program or were given other options. */
mousse_status ranks_compare_options(const train_options *run, const mousse_comm *comm,
                                    mo_error *error);

/* [collective] Gives all ranks the options of rank 0, the only one that need have the run directory
 * and its config.yaml, when all were asked for the same. A rank keeps the threads and the data
 * that it was asked for. */
mousse_status ranks_take_options(train_options *run, const train_options *asked,
                                 const mousse_comm *comm, mo_error *error);

/* [collective] Sets run->slices where it is 0: to what the run directory was started with, or by
 * the batch, or, when so many ranks cannot share those, to one per rank. Given ones that the
 * ranks cannot share are refused. */
mousse_status ranks_choose_slices(train_options *run, const mousse_comm *comm,
                                  const run_notices *notices, mo_error *error);

/* [collective] Refuses ranks whose weights differ in any bit. */
mousse_status ranks_compare_weights(const gpt_params *params, const mousse_comm *comm,
                                    mo_error *error);

#endif
