/* rdata_item.c - R's serialization: an index of variables, or a vector of strings. */
#include "data/text/rdata.h"

#include <string.h>

enum {
  TYPE_SYMBOL = 1,
  TYPE_PAIRS = 2,
  TYPE_STRING = 9,
  TYPE_LOGICALS = 10,
  TYPE_INTEGERS = 13,
  TYPE_NUMBERS = 14,
  TYPE_STRINGS = 16,
  TYPE_LIST = 19,
  TYPE_NULL = 254,
  TYPE_REFERENCE = 255,
  HAS_ATTRIBUTES = 1 << 9,
  HAS_TAG = 1 << 10,
  DEEPEST = 32
};

typedef struct cursor {
  const char *name;
  const unsigned char *data;
  size_t size, at;
  int depth;
} cursor;

static mousse_status cut_off(const cursor *c, mo_error *error)
{
  return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: R data ends in the middle, at byte %zu",
                 c->name, c->size);
}

static mousse_status take(cursor *c, size_t bytes, const unsigned char **data, mo_error *error)
{
  if (bytes > c->size - c->at) return cut_off(c, error);
  *data = c->data + c->at;
  c->at += bytes;
  return MOUSSE_OK;
}

static uint32_t big_endian(const unsigned char *b)
{
  return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static mousse_status take_integer(cursor *c, int32_t *value, mo_error *error)
{
  const unsigned char *bytes = NULL;
  MO_TRY(take(c, 4, &bytes, error));
  *value = (int32_t)big_endian(bytes);
  return MOUSSE_OK;
}

/* How many elements follow: never more than there are bytes left for them. */
static mousse_status take_count(cursor *c, size_t least_bytes, size_t *count, mo_error *error)
{
  int32_t value = 0;
  MO_TRY(take_integer(c, &value, error));
  if (value < 0)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: R data has a vector of length %d", c->name,
                   value);
  *count = (size_t)value;
  return *count > (c->size - c->at) / least_bytes ? cut_off(c, error) : MOUSSE_OK;
}

static mousse_status take_header(cursor *c, mo_error *error)
{
  int32_t version = 0, ignored = 0;
  size_t length = 0;
  const unsigned char *bytes = NULL;
  if (c->size < 2 || memcmp(c->data, "X\n", 2) != 0)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: not serialized R data (XDR)", c->name);
  c->at = 2;
  MO_TRY(take_integer(c, &version, error));
  MO_TRY(take_integer(c, &ignored, error));
  MO_TRY(take_integer(c, &ignored, error));
  if (version != 2 && version != 3)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: R serialization version %d, expected 2 or 3",
                   c->name, version);
  if (version == 2) return MOUSSE_OK;
  MO_TRY(take_count(c, 1, &length, error));
  return take(c, length, &bytes, error);
}

/* One string; NA is given as NULL. */
static mousse_status take_string(cursor *c, const char **text, size_t *length, mo_error *error)
{
  int32_t flags = 0, size = 0;
  const unsigned char *bytes = NULL;
  MO_TRY(take_integer(c, &flags, error));
  if ((flags & 0xff) != TYPE_STRING)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: R type %d where a string should be", c->name,
                   flags & 0xff);
  MO_TRY(take_integer(c, &size, error));
  *text = NULL;
  *length = 0;
  if (size == -1) return MOUSSE_OK;
  if (size < 0)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: R string of length %d", c->name, size);
  MO_TRY(take(c, (size_t)size, &bytes, error));
  *text = (const char *)bytes;
  *length = (size_t)size;
  return MOUSSE_OK;
}

static mousse_status skip_item(cursor *c, mo_error *error);

static mousse_status skip_many(cursor *c, size_t count, mo_error *error)
{
  for (size_t i = 0; i < count; i++) MO_TRY(skip_item(c, error));
  return MOUSSE_OK;
}

static mousse_status skip_contents(cursor *c, int32_t flags, mo_error *error)
{
  size_t count = 0;
  const unsigned char *bytes = NULL;
  switch (flags & 0xff) {
  case TYPE_NULL:
  case TYPE_REFERENCE:
    return MOUSSE_OK;
  case TYPE_SYMBOL:
    return skip_item(c, error);
  case TYPE_PAIRS: /* attributes, tag, value, and the rest of the list */
    return skip_many(
        c, 2u + ((flags & HAS_ATTRIBUTES) != 0 ? 1u : 0u) + ((flags & HAS_TAG) != 0 ? 1u : 0u),
        error);
  case TYPE_STRING:
    c->at -= 4; /* it reads its own flags */
    return take_string(c, &(const char *){NULL}, &count, error);
  case TYPE_LOGICALS:
  case TYPE_INTEGERS:
    MO_TRY(take_count(c, 4, &count, error));
    MO_TRY(take(c, 4 * count, &bytes, error));
    break;
  case TYPE_NUMBERS:
    MO_TRY(take_count(c, 8, &count, error));
    MO_TRY(take(c, 8 * count, &bytes, error));
    break;
  case TYPE_STRINGS:
  case TYPE_LIST:
    MO_TRY(take_count(c, 4, &count, error));
    MO_TRY(skip_many(c, count, error));
    break;
  default:
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: R type %d is not supported", c->name,
                   flags & 0xff);
  }
  return (flags & HAS_ATTRIBUTES) != 0 ? skip_item(c, error) : MOUSSE_OK;
}

static mousse_status skip_item(cursor *c, mo_error *error)
{
  int32_t flags = 0;
  MO_TRY(take_integer(c, &flags, error));
  if (c->depth == DEEPEST)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: R data is nested too deep", c->name);
  c->depth++;
  const mousse_status status = skip_contents(c, flags, error);
  c->depth--;
  return status;
}

/* The start of a vector of this type. */
static mousse_status take_vector(cursor *c, int type, size_t least_bytes, size_t *count,
                                 mo_error *error)
{
  int32_t flags = 0;
  MO_TRY(take_integer(c, &flags, error));
  if ((flags & 0xff) != type)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: R type %d, expected %d", c->name,
                   flags & 0xff, type);
  return take_count(c, least_bytes, count, error);
}

/* c(offset, length) of every variable; then the attributes, which start with their names. */
static mousse_status take_variables(cursor *c, mo_rdata *rdata, size_t count, mo_error *error)
{
  size_t two = 0, length = 0, names = 0;
  const unsigned char *bytes = NULL;
  const char *text = NULL;
  for (size_t i = 0; i < count; i++) {
    MO_TRY(take_vector(c, TYPE_INTEGERS, 4, &two, error));
    MO_TRY(take(c, 4 * two, &bytes, error));
    if (two != 2)
      return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: variable %zu has %zu numbers, expected 2",
                     c->name, i, two);
    rdata->variables[i] = (rdata_variable){big_endian(bytes), big_endian(bytes + 4)};
  }
  int32_t flags = 0;
  MO_TRY(take_integer(c, &flags, error));
  if ((flags & 0xff) != TYPE_PAIRS || (flags & HAS_TAG) == 0)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: the variables have no names", c->name);
  MO_TRY(skip_item(c, error));
  MO_TRY(take_vector(c, TYPE_STRINGS, 8, &names, error));
  for (size_t i = 0; i < names && i < count; i++) {
    uint32_t number = 0;
    bool added = false;
    char name[256] = "";
    MO_TRY(take_string(c, &text, &length, error));
    if (text == NULL || length >= sizeof name)
      return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: variable %zu has no usable name", c->name,
                     i);
    memcpy(name, text, length);
    if (!text_table_add(&rdata->names, name, strlen(name) + 1, &number, &added))
      return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory", c->name);
  }
  return rdata->names.count == count
             ? MOUSSE_OK
             : mo_fail(error, MOUSSE_BAD_FORMAT, "%s: %zu variables but %u different names",
                       c->name, count, rdata->names.count);
}

mousse_status rdata_parse_index(mo_rdata *rdata, const char *name, const char *data,
                                size_t size, mo_error *error)
{
  cursor c = {.name = name, .data = (const unsigned char *)data, .size = size};
  size_t parts = 0, count = 0;
  MO_TRY(take_header(&c, error));
  MO_TRY(take_vector(&c, TYPE_LIST, 4, &parts, error));
  if (parts == 0) return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: an empty index", name);
  MO_TRY(take_vector(&c, TYPE_LIST, 16, &count, error));
  rdata->variables = mo_allocate(NULL, count * sizeof *rdata->variables);
  if (rdata->variables == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory", name);
  const mousse_status status = take_variables(&c, rdata, count, error);
  if (status != MOUSSE_OK) {
    mo_release(NULL, rdata->variables, count * sizeof *rdata->variables);
    rdata->variables = NULL;
    text_table_close(&rdata->names);
  }
  return status;
}

mousse_status rdata_parse_text(const char *name, const char *data, size_t size,
                               text_buffer *text, mo_error *error)
{
  cursor c = {.name = name, .data = (const unsigned char *)data, .size = size};
  size_t count = 0, length = 0;
  const char *line = NULL;
  MO_TRY(take_header(&c, error));
  MO_TRY(take_vector(&c, TYPE_STRINGS, 8, &count, error));
  for (size_t i = 0; i < count; i++) {
    MO_TRY(take_string(&c, &line, &length, error));
    if (!text_buffer_add(text, line, length) || !text_buffer_add(text, "\n", 1))
      return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory for its text", name);
  }
  return MOUSSE_OK;
}
