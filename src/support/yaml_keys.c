/* yaml_keys.c - walks a YAML document event by event and hands out its keys. What is too deep is
 * refused where it begins, so a small file costs little whatever is in it. */
#include "support/yaml_keys.h"

#include "base/file.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

enum { LARGEST_FILE = 1 << 16, DEEPEST = 2 };

typedef struct seen_key {
  char text[YAML_LONGEST_KEY];
  const char *name;
} seen_key;

typedef struct yaml_reader {
  const char *path;
  yaml_parser_t parser;
  yaml_event_t event; /* the current one */
  bool has_event;
  yaml_name name;
  yaml_take take;
  void *user;
  const char *values[YAML_MOST_VALUES]; /* of the current key, in text */
  size_t used;
  seen_key seen[YAML_MOST_KEYS];
  size_t seen_count, room;
  char text[];
} yaml_reader;

/* Room for the values of any key of a text of this size: an escape of two bytes can stand for three. */
static size_t room_for(size_t size)
{
  return 2 * size + 1;
}

static yaml_reader *make_reader(size_t size)
{
  yaml_reader *r = mo_allocate(NULL, sizeof *r + room_for(size));
  if (r != NULL) r->room = room_for(size);
  return r;
}

static void release_reader(yaml_reader *r)
{
  if (r != NULL) mo_release(NULL, r, sizeof *r + r->room);
}

static size_t line_of(const yaml_reader *r)
{
  return r->event.start_mark.line + 1;
}

static mousse_status bad(const yaml_reader *r, const char *what, mo_error *error)
{
  return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: line %zu: %s", r->path, line_of(r), what);
}

static void drop_event(yaml_reader *r)
{
  if (r->has_event) yaml_event_delete(&r->event);
  r->has_event = false;
}

/* Aliases make a small file large and a key appear twice. */
static bool has_anchor(const yaml_event_t *e)
{
  return e->type == YAML_ALIAS_EVENT ||
         (e->type == YAML_SCALAR_EVENT && e->data.scalar.anchor != NULL) ||
         (e->type == YAML_SEQUENCE_START_EVENT && e->data.sequence_start.anchor != NULL) ||
         (e->type == YAML_MAPPING_START_EVENT && e->data.mapping_start.anchor != NULL);
}

static mousse_status next(yaml_reader *r, mo_error *error)
{
  drop_event(r);
  if (!yaml_parser_parse(&r->parser, &r->event))
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: line %zu: not YAML: %s", r->path,
                   r->parser.problem_mark.line + 1,
                   r->parser.problem != NULL ? r->parser.problem : "cannot be read");
  r->has_event = true;
  return has_anchor(&r->event) ? bad(r, "anchors and aliases are not allowed", error)
                               : MOUSSE_OK;
}

static mousse_status note_key(yaml_reader *r, const char *key, size_t line, mo_error *error)
{
  const char *name = r->name(key);
  for (size_t i = 0; i < r->seen_count; i++) {
    const seen_key *s = &r->seen[i];
    if (strcmp(s->text, key) == 0)
      return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: line %zu: '%s' is given twice", r->path,
                     line, key);
    if (strcmp(s->name, name) == 0)
      return mo_fail(error, MOUSSE_BAD_FORMAT,
                     "%s: line %zu: '%s' is the same option as '%s', which is given already",
                     r->path, line, key, s->text);
  }
  if (r->seen_count == YAML_MOST_KEYS) return bad(r, "too many keys", error);
  seen_key *s = &r->seen[r->seen_count++];
  memcpy(s->text, key, strlen(key) + 1);
  s->name = name == key ? s->text : name;
  return MOUSSE_OK;
}

static bool is_null(const yaml_event_t *e)
{
  const char *text = (const char *)e->data.scalar.value;
  return e->type == YAML_SCALAR_EVENT && e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
         (strcmp(text, "") == 0 || strcmp(text, "~") == 0 || strcmp(text, "null") == 0);
}

/* The current event as one more value. */
static mousse_status add_value(yaml_reader *r, size_t *count, mo_error *error)
{
  if (r->event.type != YAML_SCALAR_EVENT)
    return bad(r, "expected one value, found a list or mapping", error);
  const char *text = (const char *)r->event.data.scalar.value;
  const size_t length = r->event.data.scalar.length;
  if (strlen(text) != length) return bad(r, "a value contains a NUL byte", error);
  if (*count == YAML_MOST_VALUES || length >= r->room - r->used)
    return bad(r, "too many values", error);
  memcpy(r->text + r->used, text, length + 1);
  r->values[(*count)++] = r->text + r->used;
  r->used += length + 1;
  return MOUSSE_OK;
}

static mousse_status add_list(yaml_reader *r, size_t *count, mo_error *error)
{
  MO_TRY(next(r, error));
  while (r->event.type != YAML_SEQUENCE_END_EVENT) {
    MO_TRY(add_value(r, count, error));
    MO_TRY(next(r, error));
  }
  return MOUSSE_OK;
}

/* The current event begins the value of a key. */
static mousse_status take_value(yaml_reader *r, const char *key, mo_error *error)
{
  yaml_entry entry = {.key = key, .values = r->values, .is_null = is_null(&r->event)};
  const size_t line = line_of(r);
  mo_error reason = {{0}};
  r->used = 0;
  entry.is_list = r->event.type == YAML_SEQUENCE_START_EVENT;
  MO_TRY(entry.is_list ? add_list(r, &entry.count, error) : add_value(r, &entry.count, error));
  MO_TRY(note_key(r, key, line, error));
  const mousse_status status = r->take(r->user, &entry, &reason);
  if (status == MOUSSE_OK) return MOUSSE_OK;
  return mo_fail(error, status, "%s: line %zu: %s", r->path, line, reason.text);
}

/* The current event as a key under a prefix. */
static mousse_status read_key(const yaml_reader *r, const char *prefix,
                              char key[YAML_LONGEST_KEY], mo_error *error)
{
  if (r->event.type != YAML_SCALAR_EVENT) return bad(r, "a key is not a word", error);
  const char *text = (const char *)r->event.data.scalar.value;
  if (strlen(text) != r->event.data.scalar.length)
    return bad(r, "a key contains a NUL byte", error);
  const int length = snprintf(key, YAML_LONGEST_KEY, "%s%s", prefix, text);
  if (length < 0 || length >= YAML_LONGEST_KEY - 1) return bad(r, "a key is too long", error);
  return MOUSSE_OK;
}

/* The current event begins a mapping; afterwards it ends it. */
static mousse_status take_mapping(yaml_reader *r, const char *prefix, int depth,
                                  mo_error *error)
{
  MO_TRY(next(r, error));
  while (r->event.type != YAML_MAPPING_END_EVENT) {
    char key[YAML_LONGEST_KEY];
    MO_TRY(read_key(r, prefix, key, error));
    MO_TRY(next(r, error));
    if (r->event.type != YAML_MAPPING_START_EVENT) {
      MO_TRY(take_value(r, key, error));
    } else if (depth < DEEPEST) {
      strcat(key, ".");
      MO_TRY(take_mapping(r, key, depth + 1, error));
    } else {
      return bad(r, "expected one value, found a list or mapping", error);
    }
    MO_TRY(next(r, error));
  }
  return MOUSSE_OK;
}

static mousse_status take_stream(yaml_reader *r, mo_error *error)
{
  MO_TRY(next(r, error)); /* the stream's start */
  MO_TRY(next(r, error));
  if (r->event.type == YAML_STREAM_END_EVENT) return MOUSSE_OK;
  MO_TRY(next(r, error));                   /* after the document's start */
  if (is_null(&r->event)) return MOUSSE_OK; /* nothing but comments */
  if (r->event.type != YAML_MAPPING_START_EVENT)
    return bad(r, "expected lines of 'key: value'", error);
  MO_TRY(take_mapping(r, "", 1, error));
  MO_TRY(next(r, error)); /* the document's end */
  MO_TRY(next(r, error));
  return r->event.type == YAML_STREAM_END_EVENT
             ? MOUSSE_OK
             : bad(r, "expected the end of the file: there is one document too many", error);
}

mousse_status yaml_keys_parse(const char *path, const char *text, size_t size, yaml_name name,
                              yaml_take take, void *user, mo_error *error)
{
  if (size > LARGEST_FILE)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: %zu bytes, expected at most %d", path, size,
                   LARGEST_FILE);
  yaml_reader *r = make_reader(size);
  mousse_status status = MOUSSE_NO_MEMORY;
  if (r != NULL && yaml_parser_initialize(&r->parser)) {
    r->path = path;
    r->name = name;
    r->take = take;
    r->user = user;
    /* An empty buffer has no memory, and libyaml asserts that there is some. */
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)(size > 0 ? text : ""),
                                 size);
    status = take_stream(r, error);
    drop_event(r);
    yaml_parser_delete(&r->parser);
  } else {
    mo_fail(error, status, "%s: no memory to read it", path);
  }
  release_reader(r);
  return status;
}

mousse_status yaml_keys_read(const char *path, yaml_name name, yaml_take take, void *user,
                             mo_error *error)
{
  char *text = NULL;
  size_t size = 0;
  MO_TRY(mo_file_read(NULL, path, LARGEST_FILE, &text, &size, error));
  const mousse_status status = yaml_keys_parse(path, text, size, name, take, user, error);
  mo_release(NULL, text, size + 1);
  return status;
}
