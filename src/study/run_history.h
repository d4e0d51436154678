/* run_history.h - where in a run options changed, and its data, from DIR/history.jsonl
 * (train/history.h).
 *
 * A run may be continued with other options: then its config.yaml has the last ones, and a
 * report has to say that earlier steps were made with others.
 */
#ifndef MOUSSE_STUDY_RUN_HISTORY_H
#define MOUSSE_STUDY_RUN_HISTORY_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct option_change {
  uint64_t step;  /* the steps after this one have the new values */
  char text[200]; /* "lr 0.02 to 0.05, batch_size 8 to 16" */
} option_change;

enum { CHECKSUM_TEXT = 17 }; /* 16 digits */

typedef struct run_history {
  option_change *changes; /* owned */
  size_t count, capacity;
  char train[CHECKSUM_TEXT], val[CHECKSUM_TEXT]; /* checksums of its data; "": none is told */
} run_history;

/* Empty when there is no such file: 0.1 wrote none. A last line that a killed process left
 * damaged is passed over. */
mousse_status run_history_read(run_history *history, const char *directory, mo_error *error);
mousse_status run_history_parse(run_history *history, const char *path, const char *text,
                                size_t size, mo_error *error);
void run_history_release(run_history *history);

#endif
