/* run_archive.h - finished runs in one text file, small enough to be kept with the source: a
 * study that takes days goes on from it elsewhere.
 *
 * A line of JSON per run, in the order of their names:
 *
 *     {"name": "...", "options": {...}, "config": {...}, "data": {"train": "...", "val": "..."},
 *      "result": {...}, "metrics": "..."}
 *
 * options: those of run.yaml, a data_dir in the study's directory as "@/..."; config: those of
 * config.yaml, where every default is written out, as far as they differ from run.yaml's, and
 * all opt. and scalar. ones; data: the checksums in history.jsonl; result: result.json, with
 * the median time of all steps; metrics: metrics.jsonl with all validations, the last step and
 * at most 32 of the others. Checkpoints are not in it, and neither are runs that started from
 * another one's, which need them. Lines of earlier versions lack config, data and that median.
 */
#ifndef MOUSSE_STUDY_RUN_ARCHIVE_H
#define MOUSSE_STUDY_RUN_ARCHIVE_H

#include "study/runs.h"

enum { LARGEST_ARCHIVE = 1 << 30 }; /* bytes */

/* Where a study lies, and its runs in it. */
typedef struct archived_study {
  const char *directory, *runs; /* borrowed */
  const char *data_dir; /* that it was given; NULL: its data are in its directory. Borrowed */
} archived_study;

/* Makes the directories of those runs that are in the file and have not ended here; no such file
 * is an empty one. Runs on other data than the study's are refused; that lines do not say which
 * theirs were is a notice. */
mousse_status run_archive_unpack(const archived_study *study, const char *path,
                                 const run_notices *notices, mo_error *error);

/* The same runs as a list, to be looked at as study_runs.archived; nothing is written. */
mousse_status run_archive_list(const archived_study *study, const char *path,
                               const run_notices *notices, study_runs *list, mo_error *error);

/* Writes all runs of the study that have ended, and leaves those of others in the file. */
mousse_status run_archive_write(const archived_study *study, const char *path, mo_error *error);

#endif
