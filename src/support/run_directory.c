/* run_directory.c - whose directory it is. */
#include "support/run_directory.h"

#include "base/directory.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char mark[] = "mousse run\n";

static bool is_same(const char *path, const char *other)
{
  struct stat a, b;
  return path != NULL && other != NULL && stat(path, &a) == 0 && stat(other, &b) == 0 &&
         a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* How many entries there are besides the lock; -1: it cannot be listed. */
static long count_others(const char *directory)
{
  long count = 0;
  DIR *folder = opendir(directory);
  if (folder == NULL) return -1;
  for (const struct dirent *e; (e = readdir(folder)) != NULL;)
    count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
             strcmp(e->d_name, MO_LOCK_NAME) != 0;
  closedir(folder);
  return count;
}

bool run_directory_is_free(const char *directory)
{
  struct stat info;
  if (lstat(directory, &info) != 0) return errno == ENOENT;
  char path[4096];
  return S_ISDIR(info.st_mode) && count_others(directory) == 0 &&
         mo_path_join(path, sizeof path, directory, MO_LOCK_NAME, NULL) == MOUSSE_OK &&
         lstat(path, &info) != 0;
}

/* The lock as it is; false: there is none that is a file. */
static bool read_lock(const char *directory, char text[sizeof mark], size_t *size)
{
  char path[4096];
  struct stat info;
  ssize_t got = -1;
  if (mo_path_join(path, sizeof path, directory, MO_LOCK_NAME, NULL) != MOUSSE_OK) return false;
  const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) got = read(fd, text, sizeof mark);
  close(fd);
  *size = got > 0 ? (size_t)got : 0;
  return got >= 0;
}

static bool is_checkpoint(const char *folder, const char *name)
{
  char path[4096 + 512];
  const size_t digits = strncmp(name, "step-", 5) == 0 ? strspn(name + 5, "0123456789") : 0;
  snprintf(path, sizeof path, "%s/%s/manifest.json", folder, name);
  return digits >= 10 && name[5 + digits] == '\0' && access(path, F_OK) == 0;
}

static bool has_checkpoint(const char *directory)
{
  char path[4096];
  bool found = false;
  if (mo_path_join(path, sizeof path, directory, "checkpoints", NULL) != MOUSSE_OK)
    return false;
  DIR *folder = opendir(path);
  if (folder == NULL) return false;
  for (const struct dirent *e; !found && (e = readdir(folder)) != NULL;)
    found = is_checkpoint(path, e->d_name);
  closedir(folder);
  return found;
}

static bool is_ours(const char *directory)
{
  char text[sizeof mark];
  size_t size = 0;
  const long others = count_others(directory);
  const bool locked = read_lock(directory, text, &size);
  if (!locked) return others == 0;
  if (size == sizeof mark - 1 && memcmp(text, mark, size) == 0) return true;
  if (size > 0) return false;
  if (others == 0) return true; /* killed before it was marked */
  return has_checkpoint(directory);
}

static mousse_status put_mark(const char *directory, mo_error *error)
{
  char path[4096];
  struct stat info;
  mousse_status status = MOUSSE_OK;
  MO_TRY(mo_path_join(path, sizeof path, directory, MO_LOCK_NAME, error));
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (fd < 0) return mo_fail(error, MOUSSE_IO, "%s: cannot open: %s", path, strerror(errno));
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
    status = mo_fail(error, MOUSSE_IO, "%s: is not a regular file", path);
  else if (info.st_size == 0 && pwrite(fd, mark, sizeof mark - 1, 0) < (ssize_t)sizeof mark - 1)
    status = mo_fail(error, MOUSSE_IO, "%s: cannot write: %s", path, strerror(errno));
  close(fd);
  return status;
}

mousse_status run_directory_take(const char *directory, mo_error *error)
{
  struct stat info;
  if (is_same(directory, "/") || is_same(directory, getenv("HOME")))
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "%s: the root or home directory cannot be a run; name a directory of its "
                   "own with --out",
                   directory);
  if (stat(directory, &info) == 0 && !S_ISDIR(info.st_mode))
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "%s: is not a directory; nothing was changed; choose another --out",
                   directory);
  if (stat(directory, &info) == 0 && !is_ours(directory))
    return mo_fail(
        error, MOUSSE_INVALID_ARGUMENT,
        "%s: has files in it and is not a run of mousse; nothing was changed; choose "
        "another --out",
        directory);
  MO_TRY(mo_make_directories(directory, error));
  MO_TRY(mo_sync_parent(directory, error));
  return put_mark(directory, error);
}

/* Where it does not exist yet, its file system is that of the first folder above that does. */
unsigned long long run_directory_room(const char *directory)
{
  char path[4096], above[4096];
  struct statvfs info;
  snprintf(path, sizeof path, "%s", directory);
  int failed = statvfs(path, &info);
  while (failed != 0 && errno == ENOENT && strcmp(path, ".") != 0 &&
         mo_path_parent(above, sizeof above, path, NULL) == MOUSSE_OK) {
    memcpy(path, above, sizeof path);
    failed = statvfs(path, &info);
  }
  if (failed != 0 || info.f_blocks == 0) return ~0ULL;
  return (unsigned long long)info.f_bavail * info.f_frsize;
}
