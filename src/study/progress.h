/* progress.h - how far the runs of a study are, and how long the rest of them will take. Runs that
 * searches will add count as well: otherwise the rest would grow whenever they do. */
#ifndef MOUSSE_STUDY_PROGRESS_H
#define MOUSSE_STUDY_PROGRESS_H

#include "study/runs.h"

typedef struct study_progress {
  size_t ended, count; /* of all runs, the expected ones as well */
  double fraction;     /* of the work of all of them */
  double seconds_left; /* at the speed of this process; NAN: not known yet */
} study_progress;

/* Adds so many runs like this one to those that are expected. */
void study_expect(study_runs *runs, const train_options *run, size_t count);

/* now: as mo_seconds() has it. */
study_progress study_progress_of(const study_runs *runs, double now);

#endif
