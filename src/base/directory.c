/* directory.c - one process at a time, and our own files only. */
#include "base/directory.h"

#include "base/file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static mousse_status fail_errno(mo_error *error, const char *path, const char *action)
{
  if (errno == ELOOP || errno == ENOTDIR)
    return mo_fail(error, MOUSSE_IO,
                   "%s: is a symbolic link or not a directory; mousse does not follow it",
                   path);
  return mo_fail(error, MOUSSE_IO, "%s: cannot %s: %s", path, action, strerror(errno));
}

mousse_status mo_lock_take(mo_lock *lock, const char *directory, const char *busy,
                           mo_error *error)
{
  char path[4096];
  struct stat info;
  lock->descriptor = -1;
  MO_TRY(mo_path_join(path, sizeof path, directory, MO_LOCK_NAME, error));
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (fd < 0) return fail_errno(error, path, "open");
  mousse_status status = MOUSSE_OK;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
    status = mo_fail(error, MOUSSE_IO, "%s: is not a regular file", path);
  else if (flock(fd, LOCK_EX | LOCK_NB) != 0)
    status = errno == EWOULDBLOCK
                 ? mo_fail(error, MOUSSE_IO, "%s: another process %s", path, busy)
                 : fail_errno(error, path, "lock");
  if (status != MOUSSE_OK)
    close(fd);
  else
    lock->descriptor = fd;
  return status;
}

void mo_lock_release(mo_lock *lock)
{
  if (lock->descriptor >= 0) close(lock->descriptor);
  lock->descriptor = -1;
}

static bool is_locked_there(const mo_lock *lock, const char *directory)
{
  char path[4096];
  struct stat held, there;
  return mo_path_join(path, sizeof path, directory, MO_LOCK_NAME, NULL) == MOUSSE_OK &&
         fstat(lock->descriptor, &held) == 0 && stat(path, &there) == 0 &&
         held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

/* Where the kernel says that the lock is. */
static bool find_lock(const mo_lock *lock, char directory[4096])
{
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", lock->descriptor);
  const ssize_t length = readlink(link, directory, 4095);
  if (length < 0) return false;
  directory[length] = '\0';
  char *slash = strrchr(directory, '/');
  if (slash == NULL || slash == directory) return false;
  *slash = '\0';
  return is_locked_there(lock, directory);
}

mousse_status mo_lock_follow(const mo_lock *lock, char *directory, size_t capacity,
                             mo_error *error)
{
  char now[4096];
  if (lock->descriptor < 0 || is_locked_there(lock, directory)) return MOUSSE_OK;
  if (find_lock(lock, now) && strlen(now) < capacity) {
    memcpy(directory, now, strlen(now) + 1);
    return MOUSSE_OK;
  }
  if (access(directory, F_OK) == 0) return MOUSSE_OK; /* the lock alone was removed */
  return mo_fail(error, MOUSSE_IO, "%s: the directory was removed while it was in use",
                 directory);
}

bool mo_is_file_of(const char *name, const char *known)
{
  const size_t length = strlen(known);
  if (strncmp(name, known, length) != 0) return false;
  const char *rest = name + length;
  if (*rest == '\0') return true;
  if (*rest++ != '.' || !isdigit((unsigned char)*rest)) return false;
  while (isdigit((unsigned char)*rest)) rest++;
  return strcmp(rest, ".tmp") == 0;
}

static bool is_lock(const char *name)
{
  return strcmp(name, MO_LOCK_NAME) == 0;
}

static mousse_status check_entry(int folder, const char *directory, const char *name,
                                 mo_is_ours ours, mo_error *error)
{
  struct stat info;
  if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT ? MOUSSE_OK : fail_errno(error, directory, "look into it");
  if (S_ISREG(info.st_mode) && (is_lock(name) || ours(name))) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_IO,
                 "%s/%s: not a file that mousse makes there; nothing is removed", directory,
                 name);
}

static mousse_status remove_entry(int folder, const char *directory, const char *name,
                                  mo_error *error)
{
  if (is_lock(name) || unlinkat(folder, name, 0) == 0 || errno == ENOENT) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_IO, "%s/%s: cannot remove: %s", directory, name,
                 strerror(errno));
}

/* Walks the entries twice: all are looked at before the first is removed. */
static mousse_status visit(const char *directory, mo_is_ours ours, bool remove_them,
                           mo_error *error)
{
  const int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return fail_errno(error, directory, "open");
  DIR *folder = fdopendir(fd);
  if (folder == NULL) {
    close(fd);
    return fail_errno(error, directory, "list");
  }
  mousse_status status = MOUSSE_OK;
  for (int pass = 0; pass < (remove_them ? 2 : 1) && status == MOUSSE_OK; pass++) {
    rewinddir(folder);
    for (const struct dirent *e; status == MOUSSE_OK && (e = readdir(folder)) != NULL;) {
      if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
      status = pass == 0 ? check_entry(fd, directory, e->d_name, ours, error)
                         : remove_entry(fd, directory, e->d_name, error);
    }
  }
  closedir(folder);
  return status;
}

mousse_status mo_directory_check(const char *directory, mo_is_ours ours, mo_error *error)
{
  return visit(directory, ours, false, error);
}

mousse_status mo_directory_clear(const char *directory, mo_is_ours ours, mo_error *error)
{
  return visit(directory, ours, true, error);
}

mousse_status mo_directory_remove(const char *directory, mo_is_ours ours, mo_error *error)
{
  char path[4096];
  MO_TRY(mo_path_join(path, sizeof path, directory, MO_LOCK_NAME, error));
  MO_TRY(visit(directory, ours, true, error));
  if (unlink(path) != 0 && errno != ENOENT) return fail_errno(error, path, "remove");
  return rmdir(directory) == 0 ? MOUSSE_OK : fail_errno(error, directory, "remove");
}
