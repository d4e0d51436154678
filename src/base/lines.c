/* lines.c - a text, line by line. */
#include "base/lines.h"

#include <string.h>

mousse_status mo_lines_take(const char *path, const char *text, size_t size, mo_line_taker take,
                            void *context, mo_error *error)
{
  size_t number = 0;
  for (const char *line = text, *end = text + size; line < end;) {
    mo_error why = {{0}};
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    const char *next = newline != NULL ? newline + 1 : end;
    const mousse_status status = take(context, line, (size_t)(next - line), &why);
    number++;
    if (status != MOUSSE_OK)
      return mo_fail(error, status, "%.300s: line %zu: %s", path, number, why.text);
    line = next;
  }
  return MOUSSE_OK;
}
