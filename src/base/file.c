/* file.c - files that are complete or absent. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static mousse_status fail_errno(mo_error *error, const char *path, const char *action)
{
  const mousse_status status = errno == ENOMEM ? MOUSSE_NO_MEMORY : MOUSSE_IO;
  return mo_fail(error, status, "%s: cannot %s: %s", path, action, strerror(errno));
}

/* O_NONBLOCK: opening a FIFO that nobody writes to would wait for ever. */
mousse_status mo_file_open(const char *path, int *descriptor, size_t *size, mo_error *error)
{
  struct stat info;
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail_errno(error, path, "open");
  if (fstat(fd, &info) != 0) {
    const mousse_status status = fail_errno(error, path, "read its size");
    close(fd);
    return status;
  }
  if (!S_ISREG(info.st_mode)) {
    close(fd);
    return mo_fail(error, MOUSSE_IO, "%s: %s, expected a file", path,
                   S_ISDIR(info.st_mode) ? "is a directory" : "is not a regular file");
  }
  *descriptor = fd;
  *size = (size_t)info.st_size;
  return MOUSSE_OK;
}

static mousse_status read_all(int fd, const char *path, char *data, size_t size,
                              mo_error *error)
{
  for (size_t done = 0; done < size;) {
    const ssize_t got = read(fd, data + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(error, path, "read");
    if (got == 0)
      return mo_fail(error, MOUSSE_IO, "%s: ended after %zu of %zu bytes while being read",
                     path, done, size);
    done += (size_t)got;
  }
  return MOUSSE_OK;
}

bool mo_file_begins(const char *path, const void *bytes, size_t count)
{
  int fd = -1;
  size_t size = 0;
  char start[64];
  if (count > sizeof start || mo_file_open(path, &fd, &size, NULL) != MOUSSE_OK) return false;
  const bool same = size >= count && read_all(fd, path, start, count, NULL) == MOUSSE_OK &&
                    memcmp(start, bytes, count) == 0;
  close(fd);
  return same;
}

mousse_status mo_file_read(const mo_allocator *allocator, const char *path, size_t limit,
                           char **data, size_t *size, mo_error *error)
{
  int fd = -1;
  size_t bytes = 0;
  MO_TRY(mo_file_open(path, &fd, &bytes, error));
  if (bytes > limit) {
    close(fd);
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: %zu bytes, expected at most %zu", path, bytes,
                   limit);
  }
  char *block = mo_allocate(allocator, bytes + 1);
  mousse_status status = MOUSSE_OK;
  if (block == NULL)
    status = mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory for %zu bytes", path, bytes);
  else
    status = read_all(fd, path, block, bytes, error);
  close(fd);
  if (status != MOUSSE_OK) {
    mo_release(allocator, block, bytes + 1);
    return status;
  }
  *data = block;
  *size = bytes;
  return MOUSSE_OK;
}

mousse_status mo_map_open(mo_map *map, const char *path, mo_error *error)
{
  int fd = -1;
  size_t size = 0;
  *map = (mo_map){0};
  MO_TRY(mo_file_open(path, &fd, &size, error));
  if (size > 0) {
    void *data = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED) {
      const mousse_status status = fail_errno(error, path, "map");
      close(fd);
      return status;
    }
    *map = (mo_map){.data = data, .size = size};
  }
  struct stat info;
  if (fstat(fd, &info) == 0) {
    map->device = info.st_dev;
    map->inode = info.st_ino;
  }
  close(fd);
  return MOUSSE_OK;
}

void mo_map_close(mo_map *map)
{
  if (map->data != NULL) munmap((void *)(uintptr_t)map->data, map->size);
  *map = (mo_map){0};
}

void mo_map_read_ahead(const mo_map *map, size_t first, size_t bytes)
{
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  if (map->data == NULL || first >= map->size) return;
  const size_t start = first - first % page, end = first + bytes;
  madvise((void *)(uintptr_t)(map->data + start), (end < map->size ? end : map->size) - start,
          MADV_WILLNEED);
}

mousse_status mo_writer_open(mo_writer *writer, const char *path, mo_error *error)
{
  struct stat info;
  *writer = (mo_writer){.descriptor = -1};
  const int length = snprintf(writer->path, sizeof writer->path, "%s", path);
  if (length < 0 || (size_t)length >= sizeof writer->path)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "%s: path is too long", path);
  /* The finished file takes its place: /dev/null would be no more. */
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
    return mo_fail(error, MOUSSE_IO,
                   "%s: exists and is not a regular file; choose another name", path);
  snprintf(writer->temporary, sizeof writer->temporary, "%s.%ld.tmp", path, (long)getpid());
  /* A file of this name is left from an earlier process, or is a link that somebody planted. */
  if (unlink(writer->temporary) != 0 && errno != ENOENT)
    return fail_errno(error, writer->temporary, "remove");
  writer->descriptor =
      open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (writer->descriptor < 0) return fail_errno(error, writer->temporary, "create");
  return MOUSSE_OK;
}

static mousse_status write_all(mo_writer *writer, uint64_t offset, const void *data,
                               size_t bytes, mo_error *error)
{
  const unsigned char *from = data;
  for (size_t done = 0; done < bytes;) {
    const ssize_t put =
        pwrite(writer->descriptor, from + done, bytes - done, (off_t)(offset + done));
    if (put < 0 && errno == EINTR) continue;
    if (put == 0) errno = EIO; /* a write that takes nothing would never end */
    if (put <= 0) return fail_errno(error, writer->path, "write");
    done += (size_t)put;
  }
  return MOUSSE_OK;
}

mousse_status mo_writer_write(mo_writer *writer, const void *data, size_t bytes,
                              mo_error *error)
{
  MO_TRY(write_all(writer, writer->written, data, bytes, error));
  writer->written += bytes;
  return MOUSSE_OK;
}

mousse_status mo_writer_patch(mo_writer *writer, uint64_t offset, const void *data,
                              size_t bytes, mo_error *error)
{
  return write_all(writer, offset, data, bytes, error);
}

mousse_status mo_writer_commit(mo_writer *writer, mo_error *error)
{
  mousse_status status = MOUSSE_OK;
  if (fsync(writer->descriptor) != 0) status = fail_errno(error, writer->path, "sync");
  if (close(writer->descriptor) != 0 && status == MOUSSE_OK)
    status = fail_errno(error, writer->path, "close");
  writer->descriptor = -1;
  if (status == MOUSSE_OK && rename(writer->temporary, writer->path) != 0)
    status = fail_errno(error, writer->path, "rename the finished file into place");
  if (status != MOUSSE_OK) {
    unlink(writer->temporary);
    return status;
  }
  return mo_sync_parent(writer->path, error);
}

void mo_writer_abandon(mo_writer *writer)
{
  if (writer->descriptor < 0) return;
  close(writer->descriptor);
  unlink(writer->temporary);
  writer->descriptor = -1;
}

mousse_status mo_file_write(const char *path, const void *data, size_t bytes, mo_error *error)
{
  mo_writer writer;
  MO_TRY(mo_writer_open(&writer, path, error));
  const mousse_status status = mo_writer_write(&writer, data, bytes, error);
  if (status != MOUSSE_OK) {
    mo_writer_abandon(&writer);
    return status;
  }
  return mo_writer_commit(&writer, error);
}

mousse_status mo_make_directories(const char *path, mo_error *error)
{
  char part[4096];
  const size_t length = strlen(path);
  if (length == 0 || length >= sizeof part)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "%s: not a usable directory name", path);
  memcpy(part, path, length + 1);
  for (size_t i = 1; i <= length; i++) {
    if (part[i] != '/' && part[i] != '\0') continue;
    part[i] = '\0';
    if (mkdir(part, 0777) != 0 && errno != EEXIST)
      return fail_errno(error, part, "make the directory");
    part[i] = path[i];
  }
  struct stat info;
  if (stat(path, &info) != 0) return fail_errno(error, path, "look at the directory");
  if (!S_ISDIR(info.st_mode))
    return mo_fail(error, MOUSSE_IO, "%s: exists and is not a directory", path);
  return MOUSSE_OK;
}

mousse_status mo_sync_parent(const char *path, mo_error *error)
{
  char directory[4096];
  MO_TRY(mo_path_parent(directory, sizeof directory, path, error));
  const int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 && errno == EACCES) return MOUSSE_OK; /* may be written to but not read */
  if (fd < 0) return fail_errno(error, directory, "open");
  /* Some file systems cannot sync a directory and say EINVAL; there is nothing to do then. */
  const mousse_status status =
      fsync(fd) == 0 || errno == EINVAL ? MOUSSE_OK : fail_errno(error, directory, "sync");
  close(fd);
  return status;
}

const char *mo_path_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

mousse_status mo_path_parent(char *parent, size_t capacity, const char *path, mo_error *error)
{
  const char *name = mo_path_name(path);
  const size_t slash = name > path ? (size_t)(name - path) - 1 : 0;
  const size_t length = name > path && slash == 0 ? 1 : slash; /* the root keeps its slash */
  if (length + 2 > capacity)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "%s: path is too long", path);
  snprintf(parent, capacity, "%.*s", (int)length, path);
  if (length == 0) memcpy(parent, ".", 2);
  return MOUSSE_OK;
}

mousse_status mo_path_join(char *path, size_t capacity, const char *directory, const char *name,
                           mo_error *error)
{
  const int length = snprintf(path, capacity, "%s/%s", directory, name);
  if (length < 0 || (size_t)length >= capacity)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "%s/%s: path is too long", directory, name);
  return MOUSSE_OK;
}
