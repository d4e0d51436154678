/* json_lines.c - numbers and lines of JSON. */
#include "support/json_lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

json_t *json_finite(double value)
{
  return isfinite(value) ? json_real(value) : json_null();
}

char *json_line(json_t *object)
{
  char *text = json_dumps(object, JSON_REAL_PRECISION(9));
  json_decref(object);
  if (text == NULL) return NULL;
  const size_t length = strlen(text);
  char *line = realloc(text, length + 2);
  if (line == NULL) {
    free(text);
    return NULL;
  }
  memcpy(line + length, "\n", 2);
  return line;
}
