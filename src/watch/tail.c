/* tail.c - the lines that a file has gained. */
#include "watch/tail.h"

#include "base/memory.h"
#include "watch/place.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static ssize_t read_at(int file, char *data, size_t size, uint64_t offset)
{
  ssize_t got = -1;
  do got = pread(file, data, size, (off_t)offset);
  while (got < 0 && errno == EINTR);
  return got;
}

/* Whether what lies before the place reached is what was read there. */
static bool is_known(const file_tail *t, int file, const struct stat *info)
{
  char mark[TAIL_MARK];
  if (info->st_dev != t->device || info->st_ino != t->inode) return false;
  if ((uint64_t)info->st_size < t->offset) return false;
  return read_at(file, mark, t->mark_size, t->offset - t->mark_size) == (ssize_t)t->mark_size &&
         memcmp(mark, t->mark, t->mark_size) == 0;
}

static bool start_over(file_tail *t, const tail_reader *reader)
{
  const bool had = t->offset > 0;
  *t = (file_tail){0};
  if (had) reader->restart(reader->user);
  return had;
}

/* The bytes just taken, which end at `end`, are remembered. */
static void advance(file_tail *t, const char *start, const char *end)
{
  const size_t size = (size_t)(end - start), kept = size < TAIL_MARK ? size : TAIL_MARK;
  if (size == 0) return;
  memcpy(t->mark, end - kept, kept);
  t->mark_size = kept;
  t->offset += size;
}

/* Gives out the whole lines of a chunk; a chunk without any is part of a line that is too long. */
static size_t take_chunk(file_tail *t, const char *data, size_t size, const tail_reader *reader)
{
  const char *line = data, *end = data + size, *newline = NULL;
  while (line < end && (newline = memchr(line, '\n', (size_t)(end - line))) != NULL) {
    if (!t->skipping) reader->line(reader->user, line, (size_t)(newline + 1 - line));
    t->skipping = false;
    line = newline + 1;
  }
  if (line == data && (size == TAIL_CHUNK || t->skipping)) {
    t->skipping = true;
    line = end;
  }
  advance(t, data, line);
  return (size_t)(line - data);
}

static tail_news take_lines(file_tail *t, int file, size_t most, const tail_reader *reader)
{
  char *data = mo_allocate(NULL, TAIL_CHUNK);
  size_t taken = 0, part = 1;
  ssize_t got = 0;
  while (data != NULL && part > 0 && taken < most) {
    got = read_at(file, data, TAIL_CHUNK, t->offset);
    part = got > 0 ? take_chunk(t, data, (size_t)got, reader) : 0;
    taken += part;
  }
  mo_release(NULL, data, TAIL_CHUNK);
  return part > 0 && taken >= most ? TAIL_MORE : taken > 0 ? TAIL_LINES : TAIL_SAME;
}

tail_news tail_read(file_tail *t, int directory, const char *name, size_t most,
                    const tail_reader *reader)
{
  struct stat info;
  bool anew = false;
  const int file = place_open(directory, name, &info);
  if (file < 0 && !place_is_absent(errno)) return TAIL_SAME;
  if (file < 0) return start_over(t, reader) ? TAIL_LINES : TAIL_SAME;
  if (!is_known(t, file, &info)) anew = start_over(t, reader);
  t->device = info.st_dev;
  t->inode = info.st_ino;
  const tail_news news = take_lines(t, file, most, reader);
  close(file);
  return news == TAIL_SAME && anew ? TAIL_LINES : news;
}
