/* watch_json.h - the runs as the page gets them: documents of JSON. The model's lock is held by
 * whoever calls. What is returned is the caller's; NULL: no memory. */
#ifndef MOUSSE_WATCH_WATCH_JSON_H
#define MOUSSE_WATCH_WATCH_JSON_H

#include "watch/watch_model.h"

/* {"directory", "version", "program", "differ": names of options,
 *  "runs": [{"run", "name", "group", "state", "step", "steps", "loss", ..., "options", "spark"}]}
 *
 * Options are those that are not the same in all runs; "group" names the runs that differ in
 * their seed only (run_groups.h). Whatever is not known is null. */
json_t *watch_runs_json(const watch_model *model);

/* The run of a row's "run", which is its path as text; NULL: none. */
watched_run *watch_run_named(const watch_model *model, const char *id);

/* What a client has of a series: buckets from `from` on are sent, all of them when the layout
 * is another. */
typedef struct series_request {
  uint64_t layout, from;
} series_request;

/* One run: its row of the table, and "series", "events", "samples", "checkpoints", "changes",
 * "options" as [{"name", "value", "origin"}], "machine", "command". */
json_t *watch_run_json(const watch_model *model, const watched_run *run, series_request steps,
                       series_request validations);

/* The row of a run in the table of runs, without what depends on other runs. */
json_t *watch_row_json(const watch_model *model, const watched_run *run);

/* The document of results (report/results.h) that 'mousse report' would make of these runs, but
 * from buckets instead of single steps. */
mousse_status watch_report(const watch_model *model, watched_run *const *runs, size_t count,
                           json_t **results, mo_error *error);

/* Runs with the steps and validations of their buckets, for the code that reports on runs. To be
 * released by watch_records_release. */
mousse_status watch_records(const watch_model *model, watched_run *const *runs, size_t count,
                            run_records *records, mo_error *error);
void watch_records_release(run_records *records);

#endif
