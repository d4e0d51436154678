/* workshop.c - a directory that is complete or absent. */
#include "base/staging.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static const char lock_name[] = "lock";

/* Removes the files in it, but not the lock; there are no directories in it. */
static void clear(const char *path)
{
  DIR *directory = opendir(path);
  if (directory == NULL) return;
  for (struct dirent *e = readdir(directory); e != NULL; e = readdir(directory))
    if (e->d_name[0] != '.' && strcmp(e->d_name, lock_name) != 0)
      unlinkat(dirfd(directory), e->d_name, 0);
  closedir(directory);
}

mousse_status workshop_open(mo_workshop *workshop, const char *out, mo_error *error)
{
  char path[sizeof workshop->partial + 16];
  size_t length = strlen(out);
  while (length > 1 && out[length - 1] == '/') length--;
  workshop->lock = -1;
  if (length == 0 || length >= sizeof workshop->out)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "'%s' is not a usable directory name", out);
  memcpy(workshop->out, out, length);
  workshop->out[length] = '\0';
  snprintf(workshop->partial, sizeof workshop->partial, "%s.partial", workshop->out);
  MO_TRY(mo_make_directories(workshop->partial, error));
  snprintf(path, sizeof path, "%s/%s", workshop->partial, lock_name);
  workshop->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (workshop->lock < 0)
    return mo_fail(error, MOUSSE_IO, "%s: cannot create: %s", path, strerror(errno));
  if (flock(workshop->lock, LOCK_EX | LOCK_NB) != 0) {
    close(workshop->lock);
    workshop->lock = -1;
    return mo_fail(error, MOUSSE_IO, "%s: another process is writing there", workshop->partial);
  }
  clear(workshop->partial);
  return MOUSSE_OK;
}

static void remove_lock(mo_workshop *workshop)
{
  char path[sizeof workshop->partial + 16];
  snprintf(path, sizeof path, "%s/%s", workshop->partial, lock_name);
  unlink(path);
}

mousse_status workshop_commit(mo_workshop *workshop, mo_error *error)
{
  remove_lock(workshop);
  if (rename(workshop->partial, workshop->out) != 0) {
    const mousse_status status = mo_fail(error, MOUSSE_IO, "%s: cannot rename %s to it: %s",
                                         workshop->out, workshop->partial, strerror(errno));
    workshop_abandon(workshop);
    return status;
  }
  close(workshop->lock);
  workshop->lock = -1;
  return mo_sync_parent(workshop->out, error);
}

void workshop_abandon(mo_workshop *workshop)
{
  if (workshop->lock < 0) return;
  clear(workshop->partial);
  remove_lock(workshop);
  rmdir(workshop->partial);
  close(workshop->lock);
  workshop->lock = -1;
}
