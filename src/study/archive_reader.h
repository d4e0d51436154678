/* archive_reader.h - an archive of runs (run_archive.h), run by run. */
#ifndef MOUSSE_STUDY_ARCHIVE_READER_H
#define MOUSSE_STUDY_ARCHIVE_READER_H

#include "study/archived_run.h"

/* What becomes of a run; it is borrowed. */
typedef mousse_status (*archive_taker)(void *user, archived_run *run, mo_error *error);

/* Takes the runs that have not ended in the study, in the order of the file. One that was made with
 * other data than lie where its data_dir is, is refused; how many were taken without a checksum
 * of their data is one notice. No such file is an empty one. */
mousse_status archive_read(const archived_study *study, const char *path,
                           const run_notices *notices, archive_taker take, void *user,
                           mo_error *error);

#endif
