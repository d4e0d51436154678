/* tail.h - the lines that a file has gained since it was read last.
 *
 * A run appends to its files, cuts them back when it continues from a checkpoint, and they may
 * be replaced or vanish. What was read is recognised by the file itself and by the last bytes
 * before the place reached: when these are others, all starts over.
 */
#ifndef MOUSSE_WATCH_TAIL_H
#define MOUSSE_WATCH_TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { TAIL_MARK = 64, TAIL_CHUNK = 1 << 20 };

/* Zeroed: nothing is read yet. */
typedef struct file_tail {
  dev_t device;
  ino_t inode;
  uint64_t offset; /* of whole lines that were taken */
  char mark[TAIL_MARK];
  size_t mark_size;
  bool skipping; /* within a line longer than TAIL_CHUNK, which is passed over */
} file_tail;

typedef struct tail_reader {
  void (*line)(void *user, const char *text, size_t size); /* one, with its line end */
  void (*restart)(void *user);                             /* forget all lines of before */
  void *user;
} tail_reader;

typedef enum tail_news {
  TAIL_SAME,  /* nothing new */
  TAIL_LINES, /* all there is was taken; a line that has no end yet waits */
  TAIL_MORE   /* `most` bytes were taken and there are more: call again */
} tail_news;

/* A file that is not there any more restarts the reader, too. */
tail_news tail_read(file_tail *tail, int directory, const char *name, size_t most,
                    const tail_reader *reader);

#endif
