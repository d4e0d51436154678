/* train_display.h - a training run as people or programs watch it: a line with a bar on a
 * terminal, plain lines elsewhere, JSON lines on standard output, or nothing. */
#ifndef MOUSSE_CLI_TRAIN_DISPLAY_H
#define MOUSSE_CLI_TRAIN_DISPLAY_H

#include "cli/progress.h"
#include "train/train.h"

typedef struct cli_train_display {
  bool quiet, json;
  bool watch; /* start a page on the run */
  progress_line line;
  double speed;       /* operations per second of a matrix product; 0: not measured */
  double flops;       /* operations per token */
  uint64_t steps;     /* of the whole run */
  uint64_t per_step;  /* tokens */
  double per_seconds; /* smoothed seconds of a step */
  uint64_t seen;      /* steps of this process */
} cli_train_display;

cli_train_display train_display_start(bool quiet, bool json);
/* The functions to hand to train_execute; display must outlive the run. */
train_display train_display_functions(cli_train_display *display);
void train_display_end(cli_train_display *display);

#endif
