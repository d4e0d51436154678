/* run_child.h - one run as a child process, and the file that says how it ended. */
#ifndef MOUSSE_STUDY_RUN_CHILD_H
#define MOUSSE_STUDY_RUN_CHILD_H

#include "study/run_result.h"
#include "study/runs.h"

/* Starts `program train` for the run. The child dies with its parent, whatever way that dies:
 * nobody else would hold its directory when the study is started again. */
mousse_status run_child_start(study_run *run, const char *program, mo_error *error);

/* Looks after a running child: reads its losses, ends it when it has diverged and that is
 * wanted, and, when it has ended, writes result.json and sets the run's state. */
mousse_status run_child_attend(study_run *run, bool stop_diverged, mo_error *error);

/* DIRECTORY/result.json into run->state; unchanged when there is none. */
mousse_status run_child_look(study_run *run, mo_error *error);
void run_child_take(study_run *run,
                    const run_result *result); /* the same of one that is read */

#endif
