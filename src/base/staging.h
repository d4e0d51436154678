/* workshop.h - a directory that is complete or absent: it is made as NAME.partial, under a
 * lock, and renamed to NAME when it is done. */
#ifndef MOUSSE_BASE_STAGING_H
#define MOUSSE_BASE_STAGING_H

#include "base/file.h"

typedef struct mo_workshop {
  char out[4096], partial[4096 + 16];
  int lock; /* descriptor of partial/lock; -1: closed */
} mo_workshop;

/* Clears what an earlier run left in NAME.partial; fails when one is still at work there. */
mousse_status workshop_open(mo_workshop *workshop, const char *out, mo_error *error);
/* Fails when NAME has appeared meanwhile (an empty directory is replaced). */
mousse_status workshop_commit(mo_workshop *workshop, mo_error *error);
void workshop_abandon(mo_workshop *workshop); /* removes NAME.partial */

#endif
