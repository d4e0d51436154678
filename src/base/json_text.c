/* json_text.c - JSON text to a tree, after a look at its size, and text of any bytes to JSON. */
#include "base/json_text.h"

#include "base/memory.h"
#include "base/utf8.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The place after the string that starts at `at`, its opening quote. */
static size_t skip_string(const char *text, size_t size, size_t at)
{
  for (at++; at < size; at++) {
    if (text[at] == '\\')
      at++;
    else if (text[at] == '"')
      return at + 1;
  }
  return size;
}

size_t mo_json_values(const char *text, size_t size)
{
  size_t values = 1;
  for (size_t at = 0; at < size;) {
    if (text[at] == '"') {
      at = skip_string(text, size, at);
      continue;
    }
    values += text[at] == ',' || text[at] == '[' || text[at] == '{';
    at++;
  }
  return values;
}

static bool is_few(const char *text, size_t size, size_t most)
{
  return size < most || mo_json_values(text, size) <= most;
}

mousse_status mo_json_bound(const char *name, const char *text, size_t size, size_t most,
                            mo_error *error)
{
  if (is_few(text, size, most)) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_BAD_FORMAT,
                 "%.300s: more than %zu JSON values, which is the limit", name, most);
}

mousse_status mo_json_parse(json_t **root, const char *name, const char *text, size_t size,
                            size_t most_values, size_t flags, mo_error *error)
{
  json_error_t problem;
  *root = NULL;
  MO_TRY(mo_json_bound(name, text, size, most_values, error));
  *root = json_loadb(text, size, flags, &problem);
  if (*root != NULL) return MOUSSE_OK;
  if (json_error_code(&problem) == json_error_out_of_memory)
    return mo_fail(error, MOUSSE_NO_MEMORY, "%.300s: no memory to read it", name);
  return mo_fail(error, MOUSSE_BAD_FORMAT, "%.300s: line %d, column %d: not JSON: %s", name,
                 problem.line, problem.column, problem.text);
}

mousse_status mo_json_line(json_t **root, const char *line, size_t size, size_t most_values,
                           mo_error *error)
{
  json_error_t problem;
  *root = NULL;
  if (!is_few(line, size, most_values))
    return mo_fail(error, MOUSSE_BAD_FORMAT, "more than %zu JSON values, which is the limit",
                   most_values);
  *root = json_loadb(line, size, JSON_REJECT_DUPLICATES, &problem);
  if (*root != NULL) return MOUSSE_OK;
  if (json_error_code(&problem) == json_error_out_of_memory)
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory to read it");
  return mo_fail(error, MOUSSE_BAD_FORMAT, "not JSON: %s", problem.text);
}

json_t *mo_json_text(const char *text)
{
  enum { MARKED = 5 };
  const size_t length = strlen(text), size = length * MARKED + 1;
  json_t *value = json_string(text);
  char *marked = value == NULL ? mo_allocate(NULL, size) : NULL, *end = marked;
  if (marked == NULL) return value;
  for (const char *at = text, *last = text + length; at < last;) {
    const size_t bytes = mo_utf8_sequence(at, (size_t)(last - at));
    if (bytes == 0)
      end += snprintf(end, MARKED + 1, "\xef\xbf\xbd%02x", (unsigned char)*at);
    else
      end = (char *)memcpy(end, at, bytes) + bytes;
    at += bytes > 0 ? bytes : 1;
  }
  *end = '\0';
  value = json_string(marked);
  mo_release(NULL, marked, size);
  return value;
}
