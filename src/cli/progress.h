/* progress.h - how far a long job is, on standard error: on a terminal one line that is drawn
 * over and never wraps, elsewhere a plain line now and then, nothing when quiet. */
#ifndef MOUSSE_CLI_PROGRESS_H
#define MOUSSE_CLI_PROGRESS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* The line itself. */
typedef struct progress_line {
  bool terminal, quiet;
  bool open;  /* something is on the terminal's last line */
  double due; /* seconds: when the next update may be shown */
} progress_line;

progress_line progress_line_start(bool quiet);
bool progress_line_due(const progress_line *line);
/* label, a bar, the percentage, and fields, the most important first: a narrow terminal leaves
 * out the last ones, a wide one has a longer bar. A negative fraction: no bar. */
void progress_line_show(progress_line *line, const char *label, double fraction,
                        const char *const *fields, size_t field_count);
void progress_line_clear(progress_line *line); /* for other output, which then has the line */
void progress_line_end(progress_line *line);   /* leaves what it shows */

/* A job that counts amounts of one thing. */
typedef struct cli_progress {
  const char *label; /* borrowed */
  const char *unit;  /* borrowed; "MB" for unit_size 1e6, "window" for 1 */
  double unit_size;
  double total;   /* 0: not known */
  double base;    /* amount that was there before the start: not part of the rate */
  double started; /* seconds */
  progress_line line;
} cli_progress;

cli_progress progress_start(const char *label, const char *unit, double unit_size, double total,
                            bool quiet);
void progress_update(cli_progress *progress, double done);
/* Ends the line of a job that failed, so that the message gets one of its own; returns the status. */
mousse_status progress_check(cli_progress *progress, mousse_status status);
void progress_end(cli_progress *progress, double done); /* a last line with the overall rate */

#endif
