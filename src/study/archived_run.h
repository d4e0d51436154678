/* archived_run.h - one line of an archive of runs (run_archive.h), read. */
#ifndef MOUSSE_STUDY_ARCHIVED_RUN_H
#define MOUSSE_STUDY_ARCHIVED_RUN_H

#include "study/run_archive.h"
#include "study/run_result.h"
#include "train/options.h"

typedef struct archived_run {
  const char *name, *metrics; /* borrowed from line */
  const char *train, *val;    /* likewise: checksums of its data; NULL: none is told */
  json_t *line;
  train_options options, config; /* but for out, which is where the run will be */
  run_result result;
} archived_run;

/* Needs archived_run_release afterwards when it succeeds. */
mousse_status archived_run_read(archived_run *run, const archived_study *study,
                                const char *text, size_t size, mo_error *error);
void archived_run_release(archived_run *run);

#endif
