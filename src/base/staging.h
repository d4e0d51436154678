/* staging.h - a directory that is complete or absent: it is made as NAME.partial, under a
 * lock, and renamed to NAME when it is done. */
#ifndef MOUSSE_BASE_STAGING_H
#define MOUSSE_BASE_STAGING_H

#include "base/file.h"

typedef struct mo_staging {
  char out[4096], partial[4096 + 16];
  int lock; /* descriptor of partial/lock; -1: closed */
} mo_staging;

/* Clears what an earlier run left in NAME.partial; fails when one is still at work there. */
mousse_status mo_staging_open(mo_staging *staging, const char *out, mo_error *error);
/* Fails when NAME has appeared meanwhile (an empty directory is replaced). */
mousse_status mo_staging_commit(mo_staging *staging, mo_error *error);
void mo_staging_abandon(mo_staging *staging); /* removes NAME.partial */

#endif
