/* report_runs.h - what 'mousse report' tells of runs: the figures, from records. */
#ifndef MOUSSE_STUDY_REPORT_RUNS_H
#define MOUSSE_STUDY_REPORT_RUNS_H

#include "report/results.h"
#include "study/run_record.h"

/* Figures: summary, validation, training, lr-sweep, cost, runs. target: the loss to which steps
 * and seconds are counted; NaN: one that all runs at the best learning rates reach. The
 * document is owned by the caller. */
mousse_status report_runs(const run_records *records, const char *command, double target,
                          json_t **results, mo_error *error);

#endif
