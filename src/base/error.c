/* error.c - formats the sentence that goes with a status. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

mousse_status(mo_fail)(mo_error *error, mousse_status status, const char *format, ...)
{
  if (error != NULL) {
    /* Formatted aside first: an argument may be the old text of this very error. */
    char text[sizeof error->text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(error->text, sizeof error->text, "%s", text);
  }
  return status;
}
