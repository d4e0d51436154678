/* source.c - one input file as a sequence of parts of documents. */
#include "data/text/corpus.h"

#include "data/text/text_stream.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK_BYTES = 1 << 16, LONGEST_LINE = 1 << 30 };

typedef enum kind { TEXT_FILE, JSON_LINES } kind;

struct mo_source {
  kind kind;
  const char *field, *separator; /* borrowed */
  text_stream *stream;
  uint64_t line;     /* of JSON lines, from 1 */
  mo_buffer pending; /* read from the stream but not yet handed on */
  size_t pending_start;
  bool stream_ended;
  bool inside_line; /* the pending text goes on in the middle of a line */
  char path[4096];
};

static bool ends_with(const char *text, size_t length, const char *ending)
{
  const size_t size = strlen(ending);
  return length >= size && strncmp(text + length - size, ending, size) == 0;
}

/* The kind of a file is in its name, before .gz or .zst. */
static kind kind_of(const char *path)
{
  static const char *const packed[] = {".gz", ".zst", ".zstd"};
  size_t length = strlen(path);
  for (size_t i = 0; i < sizeof packed / sizeof *packed; i++)
    if (ends_with(path, length, packed[i])) length -= strlen(packed[i]);
  const bool lines = ends_with(path, length, ".jsonl") || ends_with(path, length, ".ndjson");
  return lines ? JSON_LINES : TEXT_FILE;
}

mousse_status source_open(mo_source **opened, const char *path, const corpus_options *options,
                          mo_error *error)
{
  mo_source *s = mo_allocate(NULL, sizeof *s);
  if (s == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory", path);
  snprintf(s->path, sizeof s->path, "%s", path);
  s->kind = kind_of(path);
  s->field = options->field != NULL ? options->field : "text";
  s->separator = options->separator != NULL ? options->separator : "";
  const mousse_status status = text_stream_open(&s->stream, path, error);
  if (status != MOUSSE_OK) {
    source_close(s);
    return status;
  }
  *opened = s;
  return MOUSSE_OK;
}

void source_close(mo_source *s)
{
  if (s == NULL) return;
  text_stream_close(s->stream);
  mo_buffer_close(&s->pending);
  mo_release(NULL, s, sizeof *s);
}

uint64_t source_consumed(const mo_source *s)
{
  return s->stream != NULL ? text_stream_consumed(s->stream) : 0;
}

/* Reads one more block into pending, dropping what was handed on. */
static mousse_status read_block(mo_source *s, mo_error *error)
{
  mo_buffer *p = &s->pending;
  size_t got = 0;
  if (s->pending_start > 0)
    memmove(p->data, p->data + s->pending_start, p->size - s->pending_start);
  p->size -= s->pending_start;
  s->pending_start = 0;
  if (!mo_grow(NULL, &p->data, &p->capacity, p->size + BLOCK_BYTES, 1))
    return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory for a line of %zu bytes", s->path,
                   p->size);
  MO_TRY(text_stream_read(s->stream, p->data + p->size, BLOCK_BYTES, &got, error));
  p->size += got;
  s->stream_ended = got == 0;
  return MOUSSE_OK;
}

static bool is_separator(const mo_source *s, const char *line, size_t length)
{
  if (length > 0 && line[length - 1] == '\r') length--;
  return length > 0 && length == strlen(s->separator) &&
         memcmp(line, s->separator, length) == 0;
}

/* Hands on lines up to a separator. A line without its end is handed on once it is too long to
 * be the separator, or at the end of the file. */
static bool hand_on_lines(mo_source *s, mo_buffer *text, bool *document_ended)
{
  const mo_buffer *p = &s->pending;
  const size_t from = s->pending_start;
  size_t at = from;
  while (at < p->size && !*document_ended) {
    const char *line = p->data + at, *end = memchr(line, '\n', p->size - at);
    const size_t length = end != NULL ? (size_t)(end - line) : p->size - at;
    const bool whole = end != NULL || s->stream_ended;
    if (!whole && length <= strlen(s->separator) + 1 && !s->inside_line) break;
    const size_t next = at + length + (end != NULL ? 1 : 0);
    if (whole && !s->inside_line && is_separator(s, line, length)) {
      *document_ended = true;
      s->pending_start = next;
      break;
    }
    s->inside_line = end == NULL;
    at = next;
  }
  if (!mo_buffer_add(text, p->data + from, at - from)) return false;
  if (!*document_ended) s->pending_start = at;
  return true;
}

static mousse_status more_text(mo_source *s, mo_buffer *text, bool *document_ended,
                               bool *file_ended, mo_error *error)
{
  if (s->pending_start == s->pending.size || !s->stream_ended) {
    const char *unread = s->pending.data + s->pending_start;
    const size_t size = s->pending.size - s->pending_start;
    if (size == 0 || memchr(unread, '\n', size) == NULL) MO_TRY(read_block(s, error));
  }
  if (s->stream_ended && s->pending_start == s->pending.size) {
    *file_ended = *document_ended = true;
    return MOUSSE_OK;
  }
  if (hand_on_lines(s, text, document_ended)) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory for a document", s->path);
}

mousse_status source_parse_line(const char *path, uint64_t line, const char *data, size_t size,
                                const char *field, mo_buffer *text, mo_error *error)
{
  json_error_t problem;
  json_t *object = json_loadb(data, size, JSON_ALLOW_NUL, &problem);
  if (object == NULL)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: line %llu, column %d: %s", path,
                   (unsigned long long)line, problem.column, problem.text);
  const json_t *value = json_object_get(object, field);
  mousse_status status = MOUSSE_OK;
  if (!json_is_string(value))
    status = mo_fail(error, MOUSSE_BAD_FORMAT, "%s: line %llu has no text in field '%s'", path,
                     (unsigned long long)line, field);
  else if (!mo_buffer_add(text, json_string_value(value), json_string_length(value)))
    status = mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory for line %llu", path,
                     (unsigned long long)line);
  json_decref(object);
  return status;
}

/* The next line of pending, however long; its length includes the line end. */
static mousse_status whole_line(mo_source *s, size_t *length, mo_error *error)
{
  for (size_t searched = 0;;) {
    const char *unread = s->pending.data + s->pending_start;
    const size_t size = s->pending.size - s->pending_start;
    const char *end = size > searched ? memchr(unread + searched, '\n', size - searched) : NULL;
    *length = end != NULL ? (size_t)(end - unread) + 1 : size;
    if (end != NULL || s->stream_ended) return MOUSSE_OK;
    if (size > LONGEST_LINE)
      return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: line %llu is longer than %d bytes", s->path,
                     (unsigned long long)s->line + 1, LONGEST_LINE);
    searched = size;
    MO_TRY(read_block(s, error));
  }
}

static mousse_status more_json(mo_source *s, mo_buffer *text, bool *document_ended,
                               bool *file_ended, mo_error *error)
{
  size_t length = 0;
  MO_TRY(whole_line(s, &length, error));
  *document_ended = true;
  *file_ended = length == 0;
  if (length == 0) return MOUSSE_OK;
  const char *line = s->pending.data + s->pending_start;
  s->pending_start += length;
  s->line++;
  size_t blank = 0;
  while (blank < length && strchr(" \t\r\n", line[blank]) != NULL && line[blank] != '\0')
    blank++;
  if (blank == length) return MOUSSE_OK;
  return source_parse_line(s->path, s->line, line, length, s->field, text, error);
}

mousse_status source_more(mo_source *s, mo_buffer *text, bool *document_ended, bool *file_ended,
                          mo_error *error)
{
  *document_ended = *file_ended = false;
  return s->kind == TEXT_FILE ? more_text(s, text, document_ended, file_ended, error)
                              : more_json(s, text, document_ended, file_ended, error);
}
