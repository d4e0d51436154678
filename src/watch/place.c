/* place.c - files below one directory, without links. */
#include "watch/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

/* The folder that the first `length` characters of path name, below `from`. */
static int open_part(int from, const char *path, size_t length)
{
  char name[NAME_MAX + 1];
  if (length >= sizeof name || length == 0 || (length == 2 && memcmp(path, "..", 2) == 0)) {
    errno = ENOENT;
    return -1;
  }
  memcpy(name, path, length);
  name[length] = '\0';
  return openat(from, name, FOLDER);
}

int place_directory(int root, const char *path)
{
  int at = openat(root, ".", FOLDER);
  if (strcmp(path, ".") == 0) return at;
  while (at >= 0 && *path != '\0') {
    const size_t length = strcspn(path, "/");
    const int next = open_part(at, path, length), reason = errno;
    close(at);
    errno = reason;
    at = next;
    path += length + (path[length] == '/');
  }
  return at;
}

int place_open(int directory, const char *name, struct stat *info)
{
  const int file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return -1;
  if (fstat(file, info) == 0 && S_ISREG(info->st_mode)) return file;
  close(file);
  errno = ENOENT;
  return -1;
}

/* ENXIO: a socket. */
bool place_is_absent(int reason)
{
  return reason == ENOENT || reason == ENOTDIR || reason == ELOOP || reason == EACCES ||
         reason == ENXIO;
}

static place_news read_all(int file, size_t most, mo_buffer *text)
{
  char part[65536];
  for (size_t all = 0; all <= most;) {
    const ssize_t got = read(file, part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0 ? PLACE_WHOLE : PLACE_LATER;
    if (!mo_buffer_add(text, part, (size_t)got)) return PLACE_LATER;
    all += (size_t)got;
  }
  return PLACE_NONE;
}

place_news place_read(int directory, const char *name, size_t most, mo_buffer *text)
{
  struct stat info;
  const int file = place_open(directory, name, &info);
  if (file < 0) return place_is_absent(errno) ? PLACE_NONE : PLACE_LATER;
  const place_news news = read_all(file, most, text);
  close(file);
  return news;
}

bool place_changed(place_stamp *stamp, int directory, const char *name)
{
  struct stat info;
  place_stamp now;
  memset(&now, 0, sizeof now);
  if (fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode)) {
    now.changed = info.st_ctim;
    now.size = info.st_size;
    now.inode = info.st_ino;
  }
  const bool same = now.changed.tv_sec == stamp->changed.tv_sec &&
                    now.changed.tv_nsec == stamp->changed.tv_nsec && now.size == stamp->size &&
                    now.inode == stamp->inode;
  *stamp = now;
  return !same;
}

void place_forget(place_stamp *stamp)
{
  memset(stamp, 0, sizeof *stamp);
  stamp->changed.tv_nsec = -1; /* as no file has it */
}
