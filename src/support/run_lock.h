/* run_lock.h - one process per run directory (base/directory.h). */
#ifndef MOUSSE_SUPPORT_RUN_LOCK_H
#define MOUSSE_SUPPORT_RUN_LOCK_H

#include "base/directory.h"

typedef mo_lock run_lock;

mousse_status run_lock_take(run_lock *lock, const char *directory, mo_error *error);
void run_lock_release(run_lock *lock);

#endif
