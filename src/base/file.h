/* file.h - files that are complete or absent: written under a temporary name, then renamed.
 *
 * Every message names the file and the operating system's reason.
 */
#ifndef MOUSSE_BASE_FILE_H
#define MOUSSE_BASE_FILE_H

#include "base/error.h"
#include "base/memory.h"

#include <stdbool.h>
#include <stdint.h>

/* Opens a regular file for reading and tells its size; anything else (a directory, a FIFO, a
 * device) is refused without waiting. The descriptor is the caller's to close. */
mousse_status mo_file_open(const char *path, int *descriptor, size_t *size, mo_error *error);

/* Is there a regular file that begins with these bytes (at most 64)? Nothing else is opened. */
bool mo_file_begins(const char *path, const void *bytes, size_t count);

/* Reads a whole file into an owned block with a NUL byte after its end (released with
 * size + 1 bytes). A file larger than limit is refused before anything is allocated. */
mousse_status mo_file_read(const mo_allocator *allocator, const char *path, size_t limit,
                           char **data, size_t *size, mo_error *error);

/* A file mapped read-only. */
typedef struct mo_map {
  const unsigned char *data; /* owned by the map; NULL for an empty file */
  size_t size;
  uint64_t device, inode; /* which file that is, whatever its path names later */
} mo_map;

mousse_status mo_map_open(mo_map *map, const char *path, mo_error *error);
void mo_map_close(mo_map *map); /* accepts a zeroed or closed map */

/* Tells the system that these bytes will be read soon: it fetches them meanwhile. */
void mo_map_read_ahead(const mo_map *map, size_t first, size_t bytes);

/* A file being written. Until commit, nothing is seen under its name; after commit, all of it
 * is, and it survives a power cut. abandon removes what there is; both end the writer. */
typedef struct mo_writer {
  int descriptor;
  uint64_t written;
  char path[4096], temporary[4096 + 32];
} mo_writer;

mousse_status mo_writer_open(mo_writer *writer, const char *path, mo_error *error);
mousse_status mo_writer_write(mo_writer *writer, const void *data, size_t bytes,
                              mo_error *error);
/* Overwrites earlier bytes: for a header whose counts are known only at the end. */
mousse_status mo_writer_patch(mo_writer *writer, uint64_t offset, const void *data,
                              size_t bytes, mo_error *error);
mousse_status mo_writer_commit(mo_writer *writer, mo_error *error);
void mo_writer_abandon(mo_writer *writer);

/* mo_writer_open .. commit in one call. */
mousse_status mo_file_write(const char *path, const void *data, size_t bytes, mo_error *error);

/* Makes a directory and its missing parents; one that exists is fine. */
mousse_status mo_make_directories(const char *path, mo_error *error);

/* Makes the entries of the directory that holds path durable. */
mousse_status mo_sync_parent(const char *path, mo_error *error);

/* The directory that holds path, into a buffer: "." for a bare name, "/" for "/name". */
mousse_status mo_path_parent(char *parent, size_t capacity, const char *path, mo_error *error);

/* The part of a path after its last slash. */
const char *mo_path_name(const char *path);

/* directory/name into a buffer; a result that does not fit is refused. */
mousse_status mo_path_join(char *path, size_t capacity, const char *directory, const char *name,
                           mo_error *error);

#endif
