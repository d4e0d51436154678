/* text_form.c - pieces of text. */
#include "report/text_form.h"

#include "base/wording.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void add(text_form *form, const char *data, size_t size)
{
  if (!mo_buffer_add(form->text, data, size)) form->no_memory = true;
}

void form_print(text_form *form, const char *format, ...)
{
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length > 0) add(form, text, strlen(text));
}

/* What there is in place of the character at c, and its bytes. */
static const char *shown(const char *c, size_t *bytes)
{
  *bytes = mo_is_control(c) ? 1 : mo_character_bytes(c);
  return mo_is_control(c) ? "?" : c;
}

/* What fits into `most` columns; *text moves behind it. Returns its columns. */
static size_t take(text_form *form, const char **text, size_t most)
{
  size_t columns = 0;
  for (; **text != '\0'; *text += mo_character_bytes(*text)) {
    size_t size = 0;
    const char *piece = shown(*text, &size);
    if (mo_character_columns(*text) > most - columns) break;
    columns += mo_character_columns(*text);
    add(form, piece, size);
  }
  return columns;
}

size_t form_foreign(text_form *form, const char *text, size_t most)
{
  if (mo_columns(text) <= most) return take(form, &text, most);
  if (most == 0) return 0;
  const size_t columns = take(form, &text, most - 1);
  add(form, "…", strlen("…"));
  return columns + 1;
}

size_t form_foreign_end(text_form *form, const char *text, size_t kept, size_t most)
{
  const char *end = text;
  size_t left = mo_columns(text);
  if (left <= most || kept + 1 >= most) return form_foreign(form, text, most);
  const size_t front = take(form, &text, kept) + 1;
  add(form, "…", strlen("…"));
  for (; left > most - front; end += mo_character_bytes(end)) left -= mo_character_columns(end);
  return front + take(form, &end, left);
}

void form_repeat(text_form *form, const char *piece, size_t count)
{
  while (count-- > 0) add(form, piece, strlen(piece));
}

/* Bytes and columns of the word at text. */
static size_t word_bytes(const char *text, size_t *columns)
{
  const size_t bytes = strcspn(text, " ");
  *columns = 0;
  for (size_t i = 0; i < bytes; i += mo_character_bytes(text + i))
    *columns += mo_character_columns(text + i);
  return bytes;
}

void form_wrap(text_form *form, const char *prefix, const char *text)
{
  const size_t indent = mo_columns(prefix);
  size_t column = indent;
  form_print(form, "%s", prefix);
  while (*(text += strspn(text, " ")) != '\0') {
    size_t columns = 0;
    const size_t bytes = word_bytes(text, &columns);
    if (column > indent && column + 1 + columns > form->width) {
      add(form, "\n", 1);
      form_repeat(form, " ", indent);
      column = indent;
    } else if (column > indent) {
      add(form, " ", 1);
      column++;
    }
    for (size_t used = 0; used < bytes;) {
      size_t size = 0;
      const char *piece = shown(text + used, &size);
      add(form, piece, size);
      used += mo_character_bytes(text + used);
    }
    text += bytes;
    column += columns;
  }
  add(form, "\n", 1);
}

const char *form_number(double value, char text[FORM_NUMBER])
{
  if (value == rint(value) && fabs(value) < 1e9)
    snprintf(text, FORM_NUMBER, "%.0f", value);
  else
    snprintf(text, FORM_NUMBER, "%.5g", value);
  return text;
}

const char *form_decimals(double value, int decimals, char text[FORM_NUMBER])
{
  if (decimals == FORM_FREE) return form_number(value, text);
  snprintf(text, FORM_NUMBER, "%.*f", decimals, value);
  return text;
}
