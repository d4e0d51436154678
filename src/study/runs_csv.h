/* runs_csv.h - records of runs as CSV (RFC 4180), for spreadsheets and data frames.
 *
 *     DIR/runs.csv      a row per run: name, state, final losses, cost, then every option
 *     DIR/metrics.csv   a row per step and per validation: run, step, tokens, loss, lr,
 *                       grad_norm, seconds, val_loss, val_bits_per_byte
 *
 * What is not known is empty.
 */
#ifndef MOUSSE_STUDY_RUNS_CSV_H
#define MOUSSE_STUDY_RUNS_CSV_H

#include "study/run_record.h"

/* Makes the directory. */
mousse_status runs_csv_write(const run_records *records, const char *directory,
                             mo_error *error);

#endif
