/* metrics.h - what a run leaves to be read: metrics.jsonl, events.jsonl, log.txt and TensorBoard's
 * events.
 *
 * metrics.jsonl has one object per line:
 *
 *     {"step", "tokens", "loss", "lr", "grad_norm", "seconds"}      a step; "skipped": true when
 *                                                                   its gradient was not finite
 *     {"step", "tokens", "val_loss"}                                a validation
 *     {"step", "matrix", "grad_norm", "update_rms", ...}            telemetry
 *
 * Losses are in nats per token; with a tokenizer there are "bits_per_byte" and
 * "val_bits_per_byte" as well, and a step has "memory", the bytes that rank 0 has in use. A
 * number that is not finite is null.
 *
 * events.jsonl has what happened, for whoever watches:
 *
 *     {"step", "time", "event": "started", "parameters", "ranks", "threads", "flops_per_token",
 *      "flops_per_second"}                          the last: of matrix products, as measured
 *     {"step", "time", "event": "checkpoint"}
 *     {"step", "time", "event": "sample" | "notice", "text"}
 *     {"step", "time", "event": "ended", "text"}    METRICS_COMPLETE, METRICS_ASKED or an error
 *
 * A resumed run first cuts off what is later than its checkpoint, so no step is there twice. What
 * a full disk has no room for waits, and a file that cannot be written is given up (log_file.h).
 */
#ifndef MOUSSE_TRAIN_METRICS_H
#define MOUSSE_TRAIN_METRICS_H

#include "train/log_file.h"

typedef struct train_metrics {
  log_file lines, log, events, happened; /* happened: events.jsonl */
  run_notices notices;                   /* where trouble with the files is told */
  double started;
  uint64_t telemetry_step;
  char matrix[64];
  struct json_t *telemetry; /* owned: the line of one matrix, being put together */
} train_metrics;

typedef struct step_report {
  uint64_t step, tokens; /* after the step */
  double loss, lr, grad_norm;
  double bits_per_byte; /* NaN: not known */
  double seconds;       /* this step took */
  double memory;        /* bytes in use; 0: not known */
  bool skipped;
} step_report;

/* A validation; the loss is that of the average where one is kept. */
typedef struct validation_report {
  uint64_t step, tokens;
  double loss, bits_per_byte; /* NaN: not known */
} validation_report;

/* As lines of metrics.jsonl, to be freed by free(); NULL: no memory. */
char *metrics_step_line(const step_report *report);
char *metrics_validation_line(const validation_report *report);

/* step: where the run continues. */
void metrics_open(train_metrics *metrics, const char *directory, uint64_t step,
                  bool tensorboard, const run_notices *notices);
/* The lines of another run's metrics up to `step`, for a branch. */
mousse_status metrics_copy(const char *from, const char *to, uint64_t step, mo_error *error);
void metrics_none(train_metrics *metrics); /* instead: what is told goes nowhere */
void metrics_close(train_metrics *metrics);

void metrics_step(train_metrics *metrics, const step_report *report);
void metrics_validation(train_metrics *metrics, const validation_report *report);
void metrics_note(train_metrics *metrics, const char *text); /* a line of log.txt */
void metrics_sync(train_metrics *metrics);                   /* before a checkpoint */
/* The same for another thread: the descriptor to sync, the caller's to close (-1: none), and what
 * to do when that failed. */
int metrics_descriptor(train_metrics *metrics);
void metrics_not_synced(train_metrics *metrics, int reason);
/* A line of events.jsonl; takes the members that it has besides, which may be NULL. */
void metrics_event(train_metrics *metrics, uint64_t step, const char *event,
                   struct json_t *members);
/* What "ended" says of a run that did not fail. */
#define METRICS_COMPLETE "complete"
#define METRICS_ASKED    "asked to stop"
/* One with a text, which may be of any bytes. */
void metrics_tell(train_metrics *metrics, uint64_t step, const char *event, const char *text,
                  size_t length);

double metrics_memory(void); /* bytes that this process has in use; 0: not known */

/* Telemetry of one step: begin, then metrics_observe as the optimizer's observer, then end. */
void metrics_telemetry_begin(train_metrics *metrics, uint64_t step);
void metrics_observe(void *metrics, const char *matrix, const char *quantity, double value);
void metrics_telemetry_end(train_metrics *metrics);

#endif
