/* run_end.h - how a run ended, by the events "started" and "ended" of its events.jsonl
 * (train/metrics.h). A run that took all its steps may still have failed to save them. */
#ifndef MOUSSE_STUDY_RUN_END_H
#define MOUSSE_STUDY_RUN_END_H

#include "base/error.h"

#include <jansson.h>

typedef enum run_end {
  RUN_END_UNKNOWN, /* neither is there */
  RUN_END_OPEN,    /* it started: it runs, or was killed */
  RUN_END_COMPLETE,
  RUN_END_ASKED, /* to stop */
  RUN_END_FAILED /* with an error */
} run_end;

/* The end after one more event; an event of another kind, or NULL, changes nothing. */
run_end run_end_after(run_end before, const json_t *event);

/* That of a run directory. Lines that are damaged are passed over: the file is for those who
 * watch, and is not synced to the disk. */
mousse_status run_end_read(run_end *end, const char *directory, mo_error *error);

#endif
