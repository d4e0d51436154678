/* progress.h - how far a long job is: a bar with rate and time left on a terminal, a plain line
 * now and then elsewhere, nothing when quiet. Written to standard error. */
#ifndef MOUSSE_CLI_PROGRESS_H
#define MOUSSE_CLI_PROGRESS_H

#include <stdbool.h>

typedef struct cli_progress {
  const char *label;   /* borrowed */
  const char *unit;    /* borrowed; what amounts are divided into, e.g. "MB" */
  double unit_size;    /* 1e6 for MB */
  double total;        /* 0: not known */
  double base;         /* amount that was there before the start: not part of the rate */
  double started, due; /* seconds */
  bool quiet, terminal;
} cli_progress;

cli_progress progress_start(const char *label, const char *unit, double unit_size, double total,
                            bool quiet);
void progress_update(cli_progress *progress, double done);
void progress_end(cli_progress *progress, double done); /* a last line with the overall rate */

#endif
