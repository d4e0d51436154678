/* directory.h - directories of ours: used by one process at a time, and emptied of our own files
 * only. Symbolic links are never followed: what a link names belongs to somebody else.
 */
#ifndef MOUSSE_BASE_DIRECTORY_H
#define MOUSSE_BASE_DIRECTORY_H

#include "base/error.h"

#include <stdbool.h>

/* The name of the lock file in a directory; it always counts as ours. */
#define MO_LOCK_NAME "lock"

/* An flock on DIRECTORY/lock, which ends with its owner whatever way that ends. */
typedef struct mo_lock {
  int descriptor; /* -1: not held */
} mo_lock;

/* busy: what to say when another process has it, as in "is training in this directory". */
mousse_status mo_lock_take(mo_lock *lock, const char *directory, const char *busy,
                           mo_error *error);
void mo_lock_release(mo_lock *lock);
/* Brings the name of a directory whose lock is held up to date: it may have been moved. An error when
 * it was removed; without a lock that is held the name stays as it is. */
mousse_status mo_lock_follow(const mo_lock *lock, char *directory, size_t capacity,
                             mo_error *error);

/* Is this a name that we give to files in the directory? */
typedef bool (*mo_is_ours)(const char *name);

/* `known`, or the name it has while mo_writer writes it: known.PID.tmp. */
bool mo_is_file_of(const char *name, const char *known);

/* Fails, naming it, when the directory is a link or holds anything but files of ours. */
mousse_status mo_directory_check(const char *directory, mo_is_ours ours, mo_error *error);

/* check, and only if all is ours: removes the files, but not the lock, and leaves the directory
 * (clear), or removes all of it (remove). */
mousse_status mo_directory_clear(const char *directory, mo_is_ours ours, mo_error *error);
mousse_status mo_directory_remove(const char *directory, mo_is_ours ours, mo_error *error);

#endif
