/* place.h - files below one directory, reached without following a link: whatever a run
 * directory holds, nothing outside of it is read. Only regular files are opened, and none of
 * them is waited for. */
#ifndef MOUSSE_WATCH_PLACE_H
#define MOUSSE_WATCH_PLACE_H

#include "base/buffer.h"

#include <sys/stat.h>

/* The directory `path` below `root`; "." is root itself. -1: there is none, or a part of the
 * path is a link, "..", or not a directory. The descriptor is the caller's to close. */
int place_directory(int root, const char *path);

/* A regular file of a directory for reading, and what it is. -1: there is none. */
int place_open(int directory, const char *name, struct stat *info);

/* Whether errno, which both set, says that there is nothing to read. Anything else, as too many
 * open files, tells nothing of the file. */
bool place_is_absent(int reason);

typedef enum place_news {
  PLACE_WHOLE, /* all of it */
  PLACE_NONE,  /* there is none that can be read, or it is larger than `most` */
  PLACE_LATER  /* too many open files, no memory, a disk that fails: nothing is known of it */
} place_news;

/* The whole of a small file, appended. */
place_news place_read(int directory, const char *name, size_t most, mo_buffer *text);

/* Whether a file is another one, or has another content, than when it was looked at last. The
 * stamp starts as zeros; of a file that is absent it is zeros again. The time is that of the
 * inode: it also tells when a file became readable, and nobody can set it back. */
typedef struct place_stamp {
  struct timespec changed;
  off_t size;
  ino_t inode;
} place_stamp;
bool place_changed(place_stamp *stamp, int directory, const char *name);
/* For what could not be read: it counts as changed the next time, too. */
void place_forget(place_stamp *stamp);

#endif
