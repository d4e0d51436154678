/* watched_run.h - what is known of one run while it goes on: its files, read as they grow.
 *
 *     config.yaml, history.jsonl, result.json   read again when they change
 *     metrics.jsonl                             followed; steps and validations in buckets
 *     events.jsonl                              followed; what happened, and samples of text
 *
 * A file that is damaged costs what it would have told, never the rest.
 */
#ifndef MOUSSE_WATCH_WATCHED_RUN_H
#define MOUSSE_WATCH_WATCHED_RUN_H

#include "study/run_record.h"
#include "watch/curvature.h"
#include "watch/lock_list.h"
#include "watch/place.h"
#include "watch/run_tree.h"
#include "watch/series.h"
#include "watch/tail.h"

#include <jansson.h>

typedef enum step_column {
  STEP_LOSS,
  STEP_LR,
  STEP_GRAD_NORM,
  STEP_SPEED, /* tokens per second */
  STEP_MEMORY,
  STEP_SKIPPED, /* 1 or 0 */
  STEP_COLUMNS
} step_column;
typedef enum validation_column {
  VALIDATION_LOSS,
  VALIDATION_BITS,
  VALIDATION_COLUMNS
} validation_column;

/* What the steps told so far. */
typedef struct run_course {
  uint64_t step, tokens;
  double seconds;      /* of all steps together */
  double step_seconds; /* of one now: an average over about 20 */
  double loss;         /* the same of the training loss; NaN: none yet */
  double last, best;   /* validation losses; NaN: none yet */
  double last_bits;    /* per byte, of the last validation */
  uint64_t best_step, skipped, validations, seen;
  uint64_t without_best; /* validations since the best one */
} run_course;

typedef struct watched_run {
  char path[TREE_PATH]; /* below the directory that is watched; its name to clients */
  run_record record;    /* options, history, result and end; its curves stay empty */
  bool has_options;
  char problem[256];   /* why options are not known; "" when they are */
  json_t *options;     /* owned: those that may matter, name to text */
  json_t *stretch;     /* owned: the last line of history.jsonl; NULL: none */
  json_t *checkpoints; /* owned: their steps */
  place_stamp config, history, result, folder;
  file_tail metrics, events;
  watch_series steps, validations;
  run_course course;
  json_t *happened, *samples; /* owned arrays: the newest events and samples */
  json_t *started;            /* owned: the last event "started"; NULL: none */
  curvature_map *curvature;   /* owned; NULL while nobody looks at it */
  bool running, present;
  uint64_t version; /* of the model when it changed last */
} watched_run;

run_course run_course_start(void); /* before the first step */

/* Starts with nothing read. False: no memory. */
bool watched_run_open(watched_run *run, const char *path);
void watched_run_close(watched_run *run);

/* Reads what is new, at most about `most` bytes of metrics. *more: there is more of them. True:
 * something changed. */
bool watched_run_read(watched_run *run, int root, const lock_list *locks, size_t most,
                      bool *more);

/* Its telemetry up to now, or as far as about `most` bytes go; NULL: no memory. What nobody asks
 * for any more is released by watched_run_read. */
curvature_map *watched_run_curvature(watched_run *run, int root, size_t most, bool *more);

/* "running", or as run_record_state has it, but "stopped" for "not finished". */
const char *watched_run_state(const watched_run *run);

double watched_run_left(const watched_run *run); /* seconds to its end; NaN: not known */
double watched_run_rate(const watched_run *run); /* tokens per second now; NaN: not known */

/* watched_files.c: the small files, by their stamps. True: one of them changed. */
bool watched_files_read(watched_run *run, int directory);
/* watched_course.c: the files that grow. */
bool watched_course_read(watched_run *run, int directory, size_t most, bool *more);

#endif
