/* staging.h - a directory that is complete or absent: it is made as NAME.partial, under a lock,
 * and renamed to NAME when it is done.
 *
 * What an earlier run left in NAME.partial is cleared, but nobody else's files are touched: the
 * lock in it carries a line that only we write, and every name must be one that the caller
 * makes. Anything else, or a link, is refused with a sentence.
 */
#ifndef MOUSSE_BASE_STAGING_H
#define MOUSSE_BASE_STAGING_H

#include "base/directory.h"

typedef struct mo_staging {
  char out[4096], partial[4096 + 16];
  mo_is_ours ours;
  mo_lock lock;
} mo_staging;

/* Fills in both names, and touches nothing. */
mousse_status mo_staging_name(mo_staging *staging, const char *out, mo_error *error);
/* ours: the names that will be written, in this or an earlier version. Fails when another
 * process is at work there. */
mousse_status mo_staging_open(mo_staging *staging, const char *out, mo_is_ours ours,
                              mo_error *error);
/* Fails when NAME has appeared meanwhile (an empty directory is replaced). */
mousse_status mo_staging_commit(mo_staging *staging, mo_error *error);
void mo_staging_abandon(mo_staging *staging); /* removes NAME.partial */

#endif
