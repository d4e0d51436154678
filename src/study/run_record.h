/* run_record.h - what a run directory tells about the run that was made there.
 *
 *     DIR/config.yaml     the options (train/options.h)
 *     DIR/metrics.jsonl   steps, validations, telemetry (train/metrics.h)
 *     DIR/history.jsonl   where its options changed (run_history.h)
 *     DIR/result.json     how it ended, when 'mousse sweep' made it (run_result.h)
 *     DIR/events.jsonl    whether it ended with an error (run_end.h)
 *
 * Values that were not finite (null in the file) or are not known are NaN. A last line that a
 * killed process left damaged is passed over; any other damage is an error with file and line.
 */
#ifndef MOUSSE_STUDY_RUN_RECORD_H
#define MOUSSE_STUDY_RUN_RECORD_H

#include "study/run_end.h"
#include "study/run_history.h"
#include "study/run_result.h"
#include "train/options.h"

typedef struct record_step {
  uint64_t step, tokens;
  double loss, lr, grad_norm, seconds;
} record_step;

typedef struct record_validation {
  uint64_t step, tokens;
  double loss, bits_per_byte; /* the latter NaN in files of older versions */
} record_validation;

/* One quantity of one matrix, e.g. (100, "h.0.attn.q", "update_rms", 0.21). */
typedef struct record_telemetry {
  uint64_t step;
  char matrix[64], quantity[32];
  double value;
} record_telemetry;

typedef struct run_record {
  char directory[MO_SETTING_PATH]; /* without links, absolute */
  char name[256];                  /* its last component */
  train_options options;
  record_step *steps; /* owned, in the order of the steps */
  size_t step_count, step_capacity;
  record_validation *validations; /* owned, likewise */
  size_t validation_count, validation_capacity;
  record_telemetry *telemetry; /* owned; empty unless asked for */
  size_t telemetry_count, telemetry_capacity;
  double final_loss;   /* of the last validation */
  double final_bits;   /* its bits per byte */
  double step_seconds; /* the median */
  bool complete;       /* see run_record_is_complete */
  run_result result;
  run_end end;         /* by its events; one from text in memory has none */
  run_history history; /* owned: where its options changed */
} run_record;

/* What of a run is read. */
typedef enum record_parts { RECORD_CURVES, RECORD_CURVES_AND_TELEMETRY } record_parts;

/* After a failure there is nothing to release. */
mousse_status run_record_read(run_record *record, const char *directory, record_parts parts,
                              mo_error *error);
void run_record_release(run_record *record);

/* A record from the text of its files instead; result and history may be NULL. What is in memory is named by
 * `name` in messages. */
typedef struct record_text {
  const char *name, *config, *metrics, *result, *history;
  size_t config_size, metrics_size, result_size, history_size;
} record_text;
mousse_status run_record_parse(run_record *record, const record_text *text, record_parts parts,
                               mo_error *error);

/* By its result.json or, without one, when it is over and did not fail. A run is over when its
 * patience ended, or after its last step and the validation that follows it. */
bool run_record_is_complete(const run_record *record, bool over);

/* The peak learning rate: as set, or the optimizer's default. */
double run_record_lr(const run_record *record);

/* "complete", "diverged", "hopeless", "failed" or "not finished". */
const char *run_record_state(const run_record *record);

/* Whether it was stopped as diverged, or its last loss is not finite or more than 1 nat above
 * its first. */
bool run_record_blew_up(const run_record *record);

typedef struct run_records {
  run_record *list; /* owned */
  size_t count, capacity;
} run_records;

/* Adds the run that a directory is, or all below it, at most four folders deep, in the order of
 * their paths. One that is in the list already is not added again; none at all is an error. */
mousse_status run_records_find(run_records *records, const char *directory, record_parts parts,
                               mo_error *error);
void run_records_release(run_records *records);

#endif
