/* run_lock.c - keeps a second process out of a run directory. */
#include "support/run_lock.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

mousse_status run_lock_take(run_lock *lock, const char *directory, mo_error *error)
{
  char path[4096];
  lock->descriptor = -1;
  MO_TRY(mo_path_join(path, sizeof path, directory, "lock", error));
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return mo_fail(error, MOUSSE_IO, "%s: cannot open: %s", path, strerror(errno));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int reason = errno;
    close(fd);
    if (reason == EWOULDBLOCK)
      return mo_fail(error, MOUSSE_IO, "%s: another process is training in this directory",
                     path);
    return mo_fail(error, MOUSSE_IO, "%s: cannot lock: %s", path, strerror(reason));
  }
  lock->descriptor = fd;
  return MOUSSE_OK;
}

void run_lock_release(run_lock *lock)
{
  if (lock->descriptor >= 0) close(lock->descriptor);
  lock->descriptor = -1;
}
