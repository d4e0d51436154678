/* study_display.h - what a terminal shows of many runs: a line while they go on, a table after.
 */
#ifndef MOUSSE_CLI_STUDY_DISPLAY_H
#define MOUSSE_CLI_STUDY_DISPLAY_H

#include "cli/progress.h"
#include "study/runs.h"

/* On a progress line: how many have ended, and how long the others will take. */
void study_progress_show(void *line, const study_runs *runs);
void study_progress_end(progress_line *line, const study_runs *runs);

/* All runs with state, steps, losses; complete ones first, best first. */
mousse_status study_print_table(const study_runs *runs, mo_error *error);

/* The path of this program, to start runs with. */
mousse_status study_program(char path[MO_SETTING_PATH], mo_error *error);

#endif
