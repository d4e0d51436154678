/* run_result.h - DIR/result.json: how a run ended that 'mousse sweep' or 'reproduce' made.
 *
 *     {"status": "complete" | "diverged" | "hopeless" | "failed", "steps": N, "peak_bytes": N,
 *      "wall_seconds": x, "cpu_seconds": x}
 *
 * A run from an archive (run_archive.h) also has "step_seconds", the median time of all its steps:
 * its metrics.jsonl has only some of them. The file is there only when the run has ended for
 * good, and is read and written only here.
 */
#ifndef MOUSSE_STUDY_RUN_RESULT_H
#define MOUSSE_STUDY_RUN_RESULT_H

#include "base/error.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

typedef enum record_status {
  RECORD_UNKNOWN, /* there is no result.json */
  RECORD_COMPLETE,
  RECORD_DIVERGED,
  RECORD_HOPELESS, /* stopped: too far behind where it was to be compared with */
  RECORD_FAILED
} record_status;

typedef struct run_result {
  record_status status;
  uint64_t steps;
  double peak_bytes, wall_seconds, cpu_seconds; /* NaN: not known */
  double step_seconds; /* the median; 0: that of metrics.jsonl, which has all steps */
} run_result;

mousse_status run_result_read(run_result *result, const char *directory, mo_error *error);
/* The same from text in memory; path is what messages call it. */
mousse_status run_result_parse(run_result *result, const char *path, const char *text,
                               size_t size, mo_error *error);
/* The same from the object itself. */
mousse_status run_result_take(run_result *result, const json_t *object, const char *path,
                              mo_error *error);
/* Of numbers: a mean of two that have nine is exact. */
enum { RESULT_DIGITS = 12 };
json_t *run_result_json(const run_result *result); /* owned by the caller; NULL: no memory */
mousse_status run_result_write(const run_result *result, const char *directory,
                               mo_error *error);

#endif
