/* text_stream.c - the bytes of a file, decompressed when it starts like gzip or zstd. */
#include "data/text/text_stream.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

/* A file of some kilobytes can unpack to terabytes. Text does not shrink a thousandfold, except
 * in small files of one repeated line. */
enum {
  INPUT_BYTES = 1 << 17,
  GZIP_WINDOW = 15 + 16,
  PRODUCED_UNCHECKED = 1 << 26,
  LARGEST_RATIO = 2000
};

typedef enum packing { PLAIN, GZIP, ZSTANDARD } packing;

struct text_stream {
  int descriptor;
  packing kind;
  uint64_t consumed, produced, members;
  size_t start, end; /* of the unread part of input */
  bool input_ended;
  bool in_member; /* inside a gzip member or zstd frame */
  bool inflating; /* gzip is initialised */
  z_stream gzip;
  ZSTD_DStream *zstd;
  char path[4096];
  unsigned char input[INPUT_BYTES];
};

static mousse_status refill(text_stream *s, mo_error *error)
{
  memmove(s->input, s->input + s->start, s->end - s->start);
  s->end -= s->start;
  s->start = 0;
  while (!s->input_ended && s->end < INPUT_BYTES) {
    const ssize_t got = read(s->descriptor, s->input + s->end, INPUT_BYTES - s->end);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return mo_fail(error, MOUSSE_IO, "%s: cannot read: %s", s->path, strerror(errno));
    s->input_ended = got == 0;
    s->end += (size_t)got;
    s->consumed += (size_t)got;
  }
  return MOUSSE_OK;
}

/* A frame of data, or one to skip (0x184D2A50 to 5F, as pzstd begins its files with). */
static bool is_zstd(const unsigned char *data, size_t size)
{
  static const unsigned char frame[] = {0x28, 0xb5, 0x2f, 0xfd}, skipped[] = {0x2a, 0x4d, 0x18};
  return size >= sizeof frame &&
         (memcmp(data, frame, sizeof frame) == 0 ||
          (data[0] >> 4 == 5 && memcmp(data + 1, skipped, sizeof skipped) == 0));
}

static mousse_status recognise(text_stream *s, mo_error *error)
{
  static const unsigned char gzip_magic[] = {0x1f, 0x8b};
  MO_TRY(refill(s, error));
  if (s->end >= sizeof gzip_magic && memcmp(s->input, gzip_magic, sizeof gzip_magic) == 0) {
    s->kind = GZIP;
    s->inflating = inflateInit2(&s->gzip, GZIP_WINDOW) == Z_OK;
    if (!s->inflating) return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory", s->path);
  } else if (is_zstd(s->input, s->end)) {
    s->kind = ZSTANDARD;
    s->zstd = ZSTD_createDStream();
    if (s->zstd == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory", s->path);
  }
  return MOUSSE_OK;
}

mousse_status text_stream_open(text_stream **opened, const char *path, mo_error *error)
{
  text_stream *s = mo_allocate(NULL, sizeof *s);
  if (s == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory", path);
  snprintf(s->path, sizeof s->path, "%s", path);
  s->descriptor = open(path, O_RDONLY | O_CLOEXEC);
  mousse_status status = MOUSSE_OK;
  if (s->descriptor < 0)
    status = mo_fail(error, MOUSSE_IO, "%s: cannot open: %s", path, strerror(errno));
  else
    status = recognise(s, error);
  if (status != MOUSSE_OK) {
    text_stream_close(s);
    return status;
  }
  *opened = s;
  return MOUSSE_OK;
}

void text_stream_close(text_stream *s)
{
  if (s == NULL) return;
  if (s->descriptor >= 0) close(s->descriptor);
  if (s->inflating) inflateEnd(&s->gzip);
  if (s->zstd != NULL) ZSTD_freeDStream(s->zstd);
  mo_release(NULL, s, sizeof *s);
}

bool text_stream_is_packed(const text_stream *s)
{
  return s->kind != PLAIN;
}

uint64_t text_stream_consumed(const text_stream *s)
{
  return s->consumed - (s->end - s->start);
}

static mousse_status read_plain(text_stream *s, char *buffer, size_t capacity, size_t *got)
{
  *got = s->end - s->start < capacity ? s->end - s->start : capacity;
  memcpy(buffer, s->input + s->start, *got);
  s->start += *got;
  return MOUSSE_OK;
}

/* One call of inflate; several gzip members may follow each other, and zeros after them, with
 * which tapes and disks are filled up. */
static mousse_status step_gzip(text_stream *s, char *buffer, size_t capacity, size_t *got,
                               mo_error *error)
{
  if (!s->in_member && s->members > 0)
    while (s->start < s->end && s->input[s->start] == 0) s->start++;
  if (!s->in_member && s->start == s->end) return MOUSSE_OK;
  if (!s->in_member) inflateReset(&s->gzip);
  s->in_member = true;
  s->gzip.next_in = s->input + s->start;
  s->gzip.avail_in = (uInt)(s->end - s->start);
  s->gzip.next_out = (unsigned char *)buffer;
  s->gzip.avail_out = (uInt)capacity;
  const int result = inflate(&s->gzip, Z_NO_FLUSH);
  s->start = s->end - s->gzip.avail_in;
  *got = capacity - s->gzip.avail_out;
  if (result == Z_STREAM_END) {
    s->in_member = false;
    s->members++;
  }
  if (result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: damaged gzip data: %s", s->path,
                 s->gzip.msg != NULL ? s->gzip.msg : "unexpected contents");
}

static mousse_status step_zstd(text_stream *s, char *buffer, size_t capacity, size_t *got,
                               mo_error *error)
{
  ZSTD_inBuffer in = {s->input, s->end, s->start};
  ZSTD_outBuffer out = {buffer, capacity, 0};
  const size_t result = ZSTD_decompressStream(s->zstd, &out, &in);
  s->start = in.pos;
  *got = out.pos;
  if (ZSTD_isError(result))
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: damaged zstd data: %s", s->path,
                   ZSTD_getErrorName(result));
  s->in_member = result != 0;
  return MOUSSE_OK;
}

mousse_status text_stream_read(text_stream *s, char *buffer, size_t capacity, size_t *got,
                               mo_error *error)
{
  if (capacity > 1 << 30) capacity = 1 << 30;
  for (*got = 0; *got == 0;) {
    if (s->start == s->end || (s->kind != PLAIN && !s->input_ended)) MO_TRY(refill(s, error));
    const bool ended = s->start == s->end && s->input_ended;
    if (ended && !s->in_member) return MOUSSE_OK;
    const size_t before = s->start;
    if (s->kind == PLAIN) return read_plain(s, buffer, capacity, got);
    if (s->kind == GZIP)
      MO_TRY(step_gzip(s, buffer, capacity, got, error));
    else
      MO_TRY(step_zstd(s, buffer, capacity, got, error));
    s->produced += *got;
    if (s->produced > PRODUCED_UNCHECKED && s->produced / s->consumed > LARGEST_RATIO)
      return mo_fail(error, MOUSSE_BAD_FORMAT,
                     "%s: unpacks to more than %d times its size; that is not text", s->path,
                     LARGEST_RATIO);
    if (*got == 0 && s->in_member && s->start == before && s->input_ended)
      return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: the compressed data is cut off", s->path);
  }
  return MOUSSE_OK;
}
