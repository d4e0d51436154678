/* metrics.h - what a run leaves to be read: metrics.jsonl, log.txt and TensorBoard's events.
 *
 * metrics.jsonl has one object per line:
 *
 *     {"step", "tokens", "loss", "lr", "grad_norm", "seconds"}      a step; "skipped": true when
 *                                                                   its gradient was not finite
 *     {"step", "tokens", "val_loss"}                                a validation
 *     {"step", "matrix", "grad_norm", "update_rms", ...}            telemetry
 *
 * A resumed run first cuts off what is later than its checkpoint, so no step is there twice. A
 * file that cannot be written is given up with a notice: logs never stop training.
 */
#ifndef MOUSSE_TRAIN_METRICS_H
#define MOUSSE_TRAIN_METRICS_H

#include "train/options.h"

typedef struct metrics_file {
  int descriptor; /* -1: not written */
  char path[4096];
} metrics_file;

typedef struct train_metrics {
  metrics_file lines, log, events;
  run_notices notices; /* where trouble with the files is told */
  double started;
  uint64_t telemetry_step;
  char matrix[64], telemetry[1024]; /* the line of one matrix, being put together */
  size_t telemetry_length;
} train_metrics;

typedef struct step_report {
  uint64_t step, tokens; /* after the step */
  double loss, lr, grad_norm;
  double seconds; /* this step took */
  bool skipped;
} step_report;

/* A step as its line of metrics.jsonl. */
enum { METRICS_LINE = 320 };
void metrics_format_step(const step_report *report, char line[METRICS_LINE]);

/* step: where the run continues. */
void metrics_open(train_metrics *metrics, const char *directory, uint64_t step,
                  bool tensorboard, const run_notices *notices);
void metrics_none(train_metrics *metrics); /* instead: what is told goes nowhere */
void metrics_close(train_metrics *metrics);

void metrics_step(train_metrics *metrics, const step_report *report);
void metrics_validation(train_metrics *metrics, uint64_t step, uint64_t tokens, double loss);
void metrics_note(train_metrics *metrics, const char *text); /* a line of log.txt */
void metrics_sync(train_metrics *metrics);                   /* before a checkpoint */

/* Telemetry of one step: begin, then metrics_observe as the optimizer's observer, then end. */
void metrics_telemetry_begin(train_metrics *metrics, uint64_t step);
void metrics_observe(void *metrics, const char *matrix, const char *quantity, double value);
void metrics_telemetry_end(train_metrics *metrics);

#endif
