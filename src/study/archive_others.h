/* archive_others.h - the lines of an archive whose runs are not of this study, to be kept when it is
 * written: another study may be adding its own to the same file. */
#ifndef MOUSSE_STUDY_ARCHIVE_OTHERS_H
#define MOUSSE_STUDY_ARCHIVE_OTHERS_H

#include "base/file.h"
#include "study/run_archive.h"

typedef struct archive_others {
  const archived_study *study;
  const char *path;
  char *text; /* owned: all of the file; NULL: there is none */
  size_t size, at,
      length;            /* the line that comes next, which is the end where nothing is left */
  char name[STUDY_NAME]; /* of its run */
} archive_others;

mousse_status archive_others_open(archive_others *others, const archived_study *study,
                                  const char *path, mo_error *error);
/* Writes those whose names come before this one; NULL: all that are left. */
mousse_status archive_others_write(archive_others *others, const char *before,
                                   mo_writer *writer, mo_error *error);
void archive_others_close(archive_others *others);

#endif
