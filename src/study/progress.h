/* progress.h - how far the runs of a study are, and how long the rest of them will take. */
#ifndef MOUSSE_STUDY_PROGRESS_H
#define MOUSSE_STUDY_PROGRESS_H

#include "study/runs.h"

typedef struct study_progress {
  size_t ended;
  double fraction;     /* of the work of all runs that are known so far */
  double seconds_left; /* at the speed of this process; NAN: not known yet */
} study_progress;

/* now: as mo_seconds() has it. */
study_progress study_progress_of(const study_runs *runs, double now);

#endif
