/* staging.c - a directory that is complete or absent. */
#include "base/staging.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the lock file of a staging directory says. */
static const char mark[] = "mousse is making this directory; what is in it may be removed\n";

mousse_status mo_staging_name(mo_staging *staging, const char *out, mo_error *error)
{
  size_t length = strlen(out);
  while (length > 0 && out[length - 1] == '/') length--;
  *staging = (mo_staging){.lock = {.descriptor = -1}};
  if (length < sizeof staging->out) memcpy(staging->out, out, length);
  const char *name = mo_path_name(staging->out);
  if (length >= sizeof staging->out || *name == '\0' || strcmp(name, ".") == 0 ||
      strcmp(name, "..") == 0)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "'%s' is not a usable directory name", out);
  snprintf(staging->partial, sizeof staging->partial, "%s.partial", staging->out);
  return MOUSSE_OK;
}

static bool carries_mark(const char *lock)
{
  char text[sizeof mark];
  const int fd = open(lock, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  const ssize_t got = read(fd, text, sizeof text);
  close(fd);
  return got == (ssize_t)strlen(mark) && memcmp(text, mark, strlen(mark)) == 0;
}

static bool nothing(const char *name)
{
  (void)name;
  return false;
}

/* No lock, or one without a word: left by a process that was killed before it wrote the mark. */
static bool says_nothing(const char *lock)
{
  struct stat info;
  return lstat(lock, &info) != 0 || (S_ISREG(info.st_mode) && info.st_size == 0);
}

/* A directory that was there before: ours if the lock says so, or if there is nothing in it. */
static mousse_status check_left_behind(const mo_staging *staging, mo_error *error)
{
  char lock[sizeof staging->partial + 16];
  snprintf(lock, sizeof lock, "%s/%s", staging->partial, MO_LOCK_NAME);
  MO_TRY(mo_directory_check(staging->partial, staging->ours, error));
  if (carries_mark(lock) ||
      (says_nothing(lock) && mo_directory_check(staging->partial, nothing, NULL) == MOUSSE_OK))
    return MOUSSE_OK;
  return mo_fail(error, MOUSSE_IO,
                 "%s: exists and was not made by mousse; move it away, or give another name",
                 staging->partial);
}

/* Has the directory of the lock been renamed or removed since it was opened? */
static bool lock_is_stale(const mo_staging *staging)
{
  char path[sizeof staging->partial + 16];
  struct stat held, there;
  snprintf(path, sizeof path, "%s/%s", staging->partial, MO_LOCK_NAME);
  return fstat(staging->lock.descriptor, &held) != 0 || lstat(path, &there) != 0 ||
         held.st_ino != there.st_ino || held.st_dev != there.st_dev;
}

/* *stale: another process finished between our look and our lock; look again. */
static mousse_status enter(mo_staging *staging, bool *stale, mo_error *error)
{
  *stale = false;
  if (mkdir(staging->partial, 0777) != 0) {
    if (errno != EEXIST)
      return mo_fail(error, MOUSSE_IO, "%s: cannot make the directory: %s", staging->partial,
                     strerror(errno));
    MO_TRY(check_left_behind(staging, error));
  }
  MO_TRY(mo_lock_take(&staging->lock, staging->partial, "is writing there", error));
  *stale = lock_is_stale(staging);
  if (*stale) mo_lock_release(&staging->lock);
  return MOUSSE_OK;
}

static mousse_status write_mark(const mo_staging *staging, mo_error *error)
{
  const ssize_t length = (ssize_t)strlen(mark);
  if (ftruncate(staging->lock.descriptor, 0) == 0 &&
      pwrite(staging->lock.descriptor, mark, (size_t)length, 0) == length)
    return MOUSSE_OK;
  return mo_fail(error, MOUSSE_IO, "%s: cannot write: %s", staging->partial, strerror(errno));
}

mousse_status mo_staging_open(mo_staging *staging, const char *out, mo_is_ours ours,
                              mo_error *error)
{
  char parent[4096];
  bool stale = true;
  MO_TRY(mo_staging_name(staging, out, error));
  staging->ours = ours;
  MO_TRY(mo_path_parent(parent, sizeof parent, staging->out, error));
  MO_TRY(mo_make_directories(parent, error));
  while (stale) MO_TRY(enter(staging, &stale, error));
  mousse_status status = mo_directory_clear(staging->partial, ours, error);
  if (status == MOUSSE_OK) status = write_mark(staging, error);
  if (status != MOUSSE_OK) mo_lock_release(&staging->lock);
  return status;
}

/* The lock goes with the directory and is removed in its final place: until then nobody else can
 * take NAME.partial for their own and clear it. */
mousse_status mo_staging_commit(mo_staging *staging, mo_error *error)
{
  char lock[sizeof staging->out + 16];
  if (rename(staging->partial, staging->out) != 0) {
    const mousse_status status = mo_fail(error, MOUSSE_IO, "%s: cannot rename %s to it: %s",
                                         staging->out, staging->partial, strerror(errno));
    mo_staging_abandon(staging);
    return status;
  }
  snprintf(lock, sizeof lock, "%s/%s", staging->out, MO_LOCK_NAME);
  unlink(lock);
  mo_lock_release(&staging->lock);
  return mo_sync_parent(staging->out, error);
}

void mo_staging_abandon(mo_staging *staging)
{
  if (staging->lock.descriptor < 0) return;
  (void)mo_directory_remove(staging->partial, staging->ours, NULL);
  mo_lock_release(&staging->lock);
}
