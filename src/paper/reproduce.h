/* reproduce.h - the paper's experiments at a size that the machine can take.
 *
 *     DIR/data/          tokens, when a text was given
 *     DIR/other/         tokens of the other text, for fine-tuning
 *     DIR/runs/NAME/     every run (runs.h)
 *     DIR/results.json   the figures (results.h)
 *     DIR/report.html
 */
#ifndef MOUSSE_PAPER_REPRODUCE_H
#define MOUSSE_PAPER_REPRODUCE_H

#include "paper/protocol.h"
#include "report/results.h"

typedef struct reproduction {
  const study_scale *scale;
  study_request request;
  const char *directory;
  const char *data_dir;   /* token shards; NULL: DIR/data, made from text */
  const char *text;       /* a text file; NULL: sentences made up here (synthetic_text.h) */
  const char *other_text; /* for fine-tuning; NULL: sentences of another kind */
  const char *archive;    /* a file of finished runs (run_archive.h); NULL: none */
  const char *command;    /* to be named in the report */
  const run_notices *notices;
  study_execution execution;
} reproduction;

/* The runs that are there or would be made next: which come after them depends on these. */
mousse_status reproduce_plan(const reproduction *what, study_runs *runs, mo_error *error);

/* Makes the runs and the document. stopped: a signal asked to stop, results is NULL then and
 * the same call continues. results: owned by the caller. */
mousse_status reproduce(const reproduction *what, json_t **results, int *stopped,
                        mo_error *error);

#endif
