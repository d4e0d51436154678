/* text_form.h - putting together the text of a report: lines of UTF-8 for a terminal. Memory
 * that runs out is noted and told once, at the end. */
#ifndef MOUSSE_REPORT_TEXT_FORM_H
#define MOUSSE_REPORT_TEXT_FORM_H

#include "base/buffer.h"

#include <jansson.h>
#include <stdbool.h>

typedef struct text_form {
  mo_buffer *text; /* borrowed */
  size_t width;
  bool whole_tables; /* neither cut nor divided, however wide */
  bool no_memory;
} text_form;

void form_print(text_form *form, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Text from outside: what would steer a terminal becomes '?'. At most `most` columns of a
 * terminal, which wide characters take two of. Returns those taken: maybe one less. */
size_t form_foreign(text_form *form, const char *text, size_t most);
/* Likewise, but what does not fit is left out after the first `kept` columns: of names that
 * begin alike, the part where they differ is seen. */
size_t form_foreign_end(text_form *form, const char *text, size_t kept, size_t most);
void form_repeat(text_form *form, const char *piece, size_t count);
/* A paragraph, broken at spaces, with `prefix` on its first line and as much space on others.
 */
void form_wrap(text_form *form, const char *prefix, const char *text);

/* A number as short as it is useful: whole ones complete, others with five digits. */
enum { FORM_NUMBER = 32 };
const char *form_number(double value, char text[FORM_NUMBER]);

/* With a fixed number of decimals; FORM_FREE: as form_number. */
enum { FORM_FREE = -1 };
const char *form_decimals(double value, int decimals, char text[FORM_NUMBER]);

/* text_plot.c: a chart of a document that was checked, in characters. */
void text_plot(text_form *form, const json_t *chart);

#endif
