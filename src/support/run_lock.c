/* run_lock.c - keeps a second process out of a run directory. */
#include "support/run_lock.h"

mousse_status run_lock_take(run_lock *lock, const char *directory, mo_error *error)
{
  return mo_lock_take(lock, directory, "is training in this directory", error);
}

void run_lock_release(run_lock *lock)
{
  mo_lock_release(lock);
}
