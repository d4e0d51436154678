/* run_lock.h - one process per run directory: an flock on RUN/lock, which ends with its owner
 * whatever way that ends. */
#ifndef MOUSSE_SUPPORT_RUN_LOCK_H
#define MOUSSE_SUPPORT_RUN_LOCK_H

#include "base/error.h"

typedef struct run_lock {
  int descriptor; /* -1: not held */
} run_lock;

mousse_status run_lock_take(run_lock *lock, const char *directory, mo_error *error);
void run_lock_release(run_lock *lock);

#endif
