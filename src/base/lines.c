/* lines.c - a text, line by line. */
#include "base/lines.h"

#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 1 << 20 };

typedef struct line_giver {
  const char *path;
  mo_line_taker take;
  void *context;
  size_t number; /* of lines given so far */
} line_giver;

static mousse_status give(line_giver *g, const char *line, size_t size, mo_error *error)
{
  mo_error why = {{0}};
  const mousse_status status = g->take(g->context, line, size, &why);
  g->number++;
  return status == MOUSSE_OK
             ? MOUSSE_OK
             : mo_fail(error, status, "%.300s: line %zu: %s", g->path, g->number, why.text);
}

/* *left: how much of the text is part of a line that does not end in it. */
static mousse_status give_whole(line_giver *g, const char *text, size_t size, size_t *left,
                                mo_error *error)
{
  const char *line = text, *end = text + size, *newline = NULL;
  while (line < end && (newline = memchr(line, '\n', (size_t)(end - line))) != NULL) {
    MO_TRY(give(g, line, (size_t)(newline + 1 - line), error));
    line = newline + 1;
  }
  *left = (size_t)(end - line);
  return MOUSSE_OK;
}

mousse_status mo_lines_take(const char *path, const char *text, size_t size, mo_line_taker take,
                            void *context, mo_error *error)
{
  line_giver g = {path, take, context, 0};
  size_t left = 0;
  MO_TRY(give_whole(&g, text, size, &left, error));
  return left > 0 ? give(&g, text + size - left, left, error) : MOUSSE_OK;
}

/* What has been read of a file and not yet been given. */
typedef struct line_room {
  char *data; /* owned */
  size_t used, capacity;
} line_room;

static mousse_status fill(line_giver *g, line_room *room, int file, size_t *got,
                          mo_error *error)
{
  ssize_t count = -1;
  if (room->used > MO_LONGEST_LINE)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%.300s: line %zu: longer than %d MiB", g->path,
                   g->number + 1, MO_LONGEST_LINE >> 20);
  if (!mo_grow(NULL, &room->data, &room->capacity, room->used + CHUNK, 1))
    return mo_fail(error, MOUSSE_NO_MEMORY, "%.300s: no memory for its lines", g->path);
  do count = read(file, room->data + room->used, CHUNK);
  while (count < 0 && errno == EINTR);
  if (count < 0)
    return mo_fail(error, MOUSSE_IO, "%.300s: cannot read: %s", g->path, strerror(errno));
  *got = (size_t)count;
  room->used += *got;
  return MOUSSE_OK;
}

static mousse_status read_lines(line_giver *g, line_room *room, int file, mo_error *error)
{
  for (size_t got = 1, left = 0; got > 0;) {
    MO_TRY(fill(g, room, file, &got, error));
    MO_TRY(give_whole(g, room->data, room->used, &left, error));
    memmove(room->data, room->data + room->used - left, left);
    room->used = left;
  }
  return room->used > 0 ? give(g, room->data, room->used, error) : MOUSSE_OK;
}

mousse_status mo_lines_read(const char *path, mo_line_taker take, void *context,
                            mo_error *error)
{
  line_giver g = {path, take, context, 0};
  line_room room = {0};
  int file = -1;
  size_t size = 0;
  MO_TRY(mo_file_open(path, &file, &size, error));
  const mousse_status status = read_lines(&g, &room, file, error);
  close(file);
  mo_release(NULL, room.data, room.capacity);
  return status;
}
