/* source.c - one input file as a sequence of parts of documents. */
#include "base/json_text.h"
#include "base/utf8.h"
#include "data/text/corpus.h"
#include "data/text/not_text.h"
#include "data/text/text_stream.h"

#include <stdio.h>
#include <string.h>

enum {
  BLOCK_BYTES = 1 << 16,
  FIRST_BYTES = 1 << 12, /* looked at to recognise an encoding, and what is no text */
  LONGEST_LINE = 1 << 26,
  MOST_VALUES = 100000 /* of a line */
};

typedef enum source_kind { TEXT_FILE, JSON_LINES } source_kind;

struct mo_source {
  source_kind kind;
  const char *field, *separator;     /* borrowed */
  const char *completion, *messages; /* likewise; NULL: not asked for */
  size_t prompt;                     /* of the last line: its length in the text */
  message_list list;                 /* of the last line */
  text_stream *stream;
  uint64_t line;     /* of JSON lines, from 1 */
  mo_buffer pending; /* read from the stream but not yet handed on */
  size_t pending_start;
  bool stream_ended;
  bool has_mark, is_utf16; /* starts with a byte order mark; looks like UTF-16 */
  mo_utf8_count utf8;
  bool inside_line; /* the pending text goes on in the middle of a line */
  char path[4096];
};

static bool ends_with(const char *text, size_t length, const char *ending)
{
  const size_t size = strlen(ending);
  return length >= size && strncmp(text + length - size, ending, size) == 0;
}

/* The length of a name without .gz or .zst. */
static size_t unpacked_length(const char *path)
{
  static const char *const packed[] = {".gz", ".zst", ".zstd"};
  size_t length = strlen(path);
  for (size_t i = 0; i < sizeof packed / sizeof *packed; i++)
    if (ends_with(path, length, packed[i])) length -= strlen(packed[i]);
  return length;
}

bool source_is_json_lines(const char *path)
{
  const size_t length = unpacked_length(path);
  return ends_with(path, length, ".jsonl") || ends_with(path, length, ".ndjson");
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
  if (s->kind == TEXT_FILE) mo_utf8_count_add(&s->utf8, p->data + p->size, got);
  p->size += got;
  s->stream_ended = got == 0;
  if (s->stream_ended) mo_utf8_count_finish(&s->utf8);
  return MOUSSE_OK;
}

/* ASCII as UTF-16 has a zero in every other place, all of them even or all of them odd. */
static bool has_alternating_zeros(const char *data, size_t size)
{
  size_t zeros[2] = {0, 0};
  for (size_t i = 0; i < size; i++) zeros[i % 2] += data[i] == '\0';
  return size >= 16 &&
         ((zeros[0] == 0 && zeros[1] > size / 4) || (zeros[1] == 0 && zeros[0] > size / 4));
}

/* A byte order mark is no text: it is dropped. */
static mousse_status look_at_start(mo_source *s, mo_error *error)
{
  if (!text_stream_is_packed(s->stream) && unpacked_length(s->path) < strlen(s->path))
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: its name says that it is compressed, but it is neither gzip nor zstd; "
                   "if it is plain text, rename it",
                   s->path);
  while (s->pending.size < FIRST_BYTES && !s->stream_ended) MO_TRY(read_block(s, error));
  const char *data = s->pending.data;
  const size_t size = s->pending.size < FIRST_BYTES ? s->pending.size : FIRST_BYTES;
  MO_TRY(not_text_refuse(s->path, data, size, error));
  s->has_mark = size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0;
  if (s->has_mark) s->pending_start = 3;
  s->is_utf16 =
      size >= 2 && (memcmp(data, "\xff\xfe", 2) == 0 || memcmp(data, "\xfe\xff", 2) == 0 ||
                    has_alternating_zeros(data, size));
  return MOUSSE_OK;
}

/* JSON, though not in lines: most who have such a file want what is in its fields. */
static bool is_json_document(const mo_source *s)
{
  return s->kind == TEXT_FILE && ends_with(s->path, unpacked_length(s->path), ".json");
}

void source_note(const mo_source *s, const char *path, corpus_notes *notes)
{
  notes->marks += s->has_mark;
  if (is_json_document(s) && notes->json_files++ == 0) notes->json_path = path;
  if (s->is_utf16 && notes->utf16_files++ == 0) notes->utf16_path = path;
  if (s->utf8.bad == 0) return;
  if (notes->bad_files++ == 0) {
    notes->bad_path = path;
    notes->bad_offset = s->utf8.first_bad;
  }
  notes->bad_bytes += s->utf8.bad;
}

mousse_status source_open(mo_source **opened, const char *path, const corpus_options *options,
                          mo_error *error)
{
  mo_source *s = mo_allocate(NULL, sizeof *s);
  if (s == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory", path);
  snprintf(s->path, sizeof s->path, "%s", path);
  s->kind = source_is_json_lines(path) ? JSON_LINES : TEXT_FILE;
  s->field = options->field != NULL ? options->field : "text";
  s->completion = options->completion;
  s->messages = options->messages;
  s->separator = options->separator != NULL ? options->separator : "";
  mousse_status status = MOUSSE_OK;
  if ((s->completion != NULL || s->messages != NULL) && s->kind != JSON_LINES)
    status =
        mo_fail(error, MOUSSE_BAD_FORMAT, "%s: %s are read from JSON lines (.jsonl, .ndjson)",
                path, s->messages != NULL ? "messages" : "prompts and completions");
  if (status == MOUSSE_OK) status = text_stream_open(&s->stream, path, error);
  if (status == MOUSSE_OK) status = look_at_start(s, error);
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
  message_list_close(&s->list);
  mo_release(NULL, s, sizeof *s);
}

uint64_t source_consumed(const mo_source *s)
{
  return s->stream != NULL ? text_stream_consumed(s->stream) : 0;
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
  const size_t size = s->pending.size - s->pending_start;
  if (!s->stream_ended &&
      (size == 0 || memchr(s->pending.data + s->pending_start, '\n', size) == NULL))
    MO_TRY(read_block(s, error));
  if (s->stream_ended && s->pending_start == s->pending.size) {
    *file_ended = *document_ended = true;
    return MOUSSE_OK;
  }
  if (hand_on_lines(s, text, document_ended)) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory for a document", s->path);
}

/* A line as an object; owned. */
static mousse_status parse_object(const char *path, uint64_t line, const char *data,
                                  size_t size, json_t **object, mo_error *error)
{
  json_error_t problem;
  const unsigned long long number = line;
  /* Only strings are used: other fields may have whole numbers beyond 64 bits, as hashes. */
  const size_t flags = JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL;
  if (size >= MOST_VALUES && mo_json_values(data, size) > MOST_VALUES)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: line %llu has more than %d JSON values", path,
                   number, MOST_VALUES);
  *object = json_loadb(data, size, flags, &problem);
  if (*object != NULL) return MOUSSE_OK;
  if (json_error_code(&problem) == json_error_out_of_memory)
    return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory for line %llu", path, number);
  return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: line %llu, column %d: %s", path, number,
                 problem.column, problem.text);
}

/* option: the one of 'mousse tokenize' that names the field. */
static mousse_status add_field(const char *path, uint64_t line, const json_t *object,
                               const char *field, const char *option, mo_buffer *text,
                               mo_error *error)
{
  const json_t *value = json_object_get(object, field);
  const unsigned long long number = line;
  if (!json_is_string(value))
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: line %llu has no text in field '%s'; %s NAME chooses another", path,
                   number, field, option);
  if (mo_buffer_add(text, json_string_value(value), json_string_length(value)))
    return MOUSSE_OK;
  return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory for line %llu", path, number);
}

mousse_status source_parse_line(const char *path, uint64_t line, const char *data, size_t size,
                                const char *field, mo_buffer *text, mo_error *error)
{
  json_t *object = NULL;
  MO_TRY(parse_object(path, line, data, size, &object, error));
  const mousse_status status = add_field(path, line, object, field, "--field", text, error);
  json_decref(object);
  return status;
}

static mousse_status add_pair(const char *path, uint64_t line, const json_t *object,
                              const char *field, const char *completion, mo_buffer *text,
                              size_t *prompt, mo_error *error)
{
  const size_t before = text->size;
  if (json_object_get(object, field) != NULL)
    MO_TRY(add_field(path, line, object, field, "--field", text, error));
  *prompt = text->size - before;
  MO_TRY(add_field(path, line, object, completion, "--completion-field", text, error));
  if (text->size - before > *prompt) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: line %llu: the completion '%s' is empty", path,
                 (unsigned long long)line, completion);
}

mousse_status source_parse_pair(const char *path, uint64_t line, const char *data, size_t size,
                                const char *field, const char *completion, mo_buffer *text,
                                size_t *prompt, mo_error *error)
{
  json_t *object = NULL;
  MO_TRY(parse_object(path, line, data, size, &object, error));
  const mousse_status status =
      add_pair(path, line, object, field, completion, text, prompt, error);
  json_decref(object);
  return status;
}

size_t source_prompt(const mo_source *s)
{
  return s->prompt;
}

mousse_status source_parse_messages(const char *path, uint64_t line, const char *data,
                                    size_t size, const char *field, mo_buffer *text,
                                    message_list *list, mo_error *error)
{
  json_t *object = NULL;
  MO_TRY(parse_object(path, line, data, size, &object, error));
  const mousse_status status = messages_read(list, path, line, object, field, text, error);
  json_decref(object);
  return status;
}

const message_list *source_messages(const mo_source *s)
{
  return &s->list;
}

/* The next line of pending, however long; its length includes the line end. */
static mousse_status whole_line(mo_source *s, size_t *length, mo_error *error)
{
  for (size_t searched = 0;;) {
    const size_t size = s->pending.size - s->pending_start;
    if (size == 0 && s->stream_ended) return MOUSSE_OK; /* *length is 0 */
    const char *unread = size > 0 ? s->pending.data + s->pending_start : "";
    const char *end = size > searched ? memchr(unread + searched, '\n', size - searched) : NULL;
    *length = end != NULL ? (size_t)(end - unread) + 1 : size;
    if (end != NULL || s->stream_ended) return MOUSSE_OK;
    if (size > LONGEST_LINE)
      return mo_fail(
          error, MOUSSE_BAD_FORMAT,
          "%s: line %llu is longer than %d bytes, the most that a JSON line may have", s->path,
          (unsigned long long)s->line + 1, LONGEST_LINE);
    searched = size;
    MO_TRY(read_block(s, error));
  }
}

static mousse_status more_json(mo_source *s, mo_buffer *text, bool *document_ended,
                               bool *file_ended, mo_error *error)
{
  size_t length = 0;
  s->prompt = s->list.count = 0;
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
  if (s->messages != NULL)
    return source_parse_messages(s->path, s->line, line, length, s->messages, text, &s->list,
                                 error);
  if (s->completion != NULL)
    return source_parse_pair(s->path, s->line, line, length, s->field, s->completion, text,
                             &s->prompt, error);
  return source_parse_line(s->path, s->line, line, length, s->field, text, error);
}

mousse_status source_more(mo_source *s, mo_buffer *text, bool *document_ended, bool *file_ended,
                          mo_error *error)
{
  *document_ended = *file_ended = false;
  return s->kind == TEXT_FILE ? more_text(s, text, document_ended, file_ended, error)
                              : more_json(s, text, document_ended, file_ended, error);
}
