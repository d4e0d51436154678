/* staging.c - a directory that is complete or absent. */
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

mousse_status mo_staging_open(mo_staging *staging, const char *out, mo_error *error)
{
  char path[sizeof staging->partial + 16];
  size_t length = strlen(out);
  while (length > 1 && out[length - 1] == '/') length--;
  staging->lock = -1;
  if (length == 0 || length >= sizeof staging->out)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "'%s' is not a usable directory name", out);
  memcpy(staging->out, out, length);
  staging->out[length] = '\0';
  snprintf(staging->partial, sizeof staging->partial, "%s.partial", staging->out);
  MO_TRY(mo_make_directories(staging->partial, error));
  snprintf(path, sizeof path, "%s/%s", staging->partial, lock_name);
  staging->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (staging->lock < 0)
    return mo_fail(error, MOUSSE_IO, "%s: cannot create: %s", path, strerror(errno));
  if (flock(staging->lock, LOCK_EX | LOCK_NB) != 0) {
    close(staging->lock);
    staging->lock = -1;
    return mo_fail(error, MOUSSE_IO, "%s: another process is writing there", staging->partial);
  }
  clear(staging->partial);
  return MOUSSE_OK;
}

static void remove_lock(mo_staging *staging)
{
  char path[sizeof staging->partial + 16];
  snprintf(path, sizeof path, "%s/%s", staging->partial, lock_name);
  unlink(path);
}

mousse_status mo_staging_commit(mo_staging *staging, mo_error *error)
{
  remove_lock(staging);
  if (rename(staging->partial, staging->out) != 0) {
    const mousse_status status = mo_fail(error, MOUSSE_IO, "%s: cannot rename %s to it: %s",
                                         staging->out, staging->partial, strerror(errno));
    mo_staging_abandon(staging);
    return status;
  }
  close(staging->lock);
  staging->lock = -1;
  return mo_sync_parent(staging->out, error);
}

void mo_staging_abandon(mo_staging *staging)
{
  if (staging->lock < 0) return;
  clear(staging->partial);
  remove_lock(staging);
  rmdir(staging->partial);
  close(staging->lock);
  staging->lock = -1;
}
