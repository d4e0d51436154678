/* study_display.h - what a terminal shows of many runs: a line while they go on, a table after.
 */
#ifndef MOUSSE_CLI_STUDY_DISPLAY_H
#define MOUSSE_CLI_STUDY_DISPLAY_H

#include "cli/progress.h"
#include "study/runs.h"

typedef struct study_display {
  progress_line line;
  double started;      /* seconds */
  double steps_before; /* that were taken when it started; negative: not known yet */
} study_display;

study_display study_display_start(bool quiet);
void study_display_watch(void *display, const study_runs *runs);
void study_display_end(study_display *display, const study_runs *runs);

/* All runs with state, steps, losses; complete ones first, best first. */
mousse_status study_print_table(const study_runs *runs, mo_error *error);

/* The path of this program, to start runs with. */
mousse_status study_program(char path[MO_SETTING_PATH], mo_error *error);

#endif
