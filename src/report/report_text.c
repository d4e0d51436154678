/* report_text.c - a document of results for the terminal. */
#include "report/report.h"

#include "base/wording.h"
#include "report/text_form.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 32, WIDEST_CELL = 40, GAP = 2, USUAL_WIDTH = 80 };

static const char *text_of(const json_t *object, const char *key)
{
  return json_string_value(json_object_get(object, key));
}

/* How a column is printed: numbers at the right of it, text at the left. */
typedef struct column {
  size_t width;
  bool numbers;
  int decimals;
  size_t kept; /* columns that stay at the front of a name that is too long */
} column;

static const char *cell_text(const json_t *cell, int decimals, char number[FORM_NUMBER])
{
  if (json_is_string(cell)) return json_string_value(cell);
  return json_is_number(cell) ? form_decimals(json_number_value(cell), decimals, number) : "-";
}

static size_t widest_cell(const text_form *form)
{
  return form->whole_tables ? SIZE_MAX : WIDEST_CELL;
}

static size_t cell_width(const text_form *form, const json_t *cell, int decimals)
{
  char number[FORM_NUMBER];
  const size_t length = mo_columns(cell_text(cell, decimals, number));
  return length < widest_cell(form) ? length : widest_cell(form);
}

static void print_cell(text_form *form, const json_t *cell, const column *c)
{
  char number[FORM_NUMBER];
  if (c->numbers) form_repeat(form, " ", c->width - cell_width(form, cell, c->decimals));
  const size_t used =
      form_foreign_end(form, cell_text(cell, c->decimals, number), c->kept, widest_cell(form));
  if (!c->numbers) form_repeat(form, " ", c->width - used);
}

/* At most three digits. */
static bool is_short(double value)
{
  char text[FORM_NUMBER];
  snprintf(text, sizeof text, "%.3g", value);
  return strtod(text, NULL) == value || value == rint(value);
}

/* Short numbers as they are; others with as many decimals as give the largest five digits, four
 * at most. */
static int decimals_of(const json_t *rows, size_t index)
{
  double largest = 0;
  bool all_short = true;
  for (size_t r = 0; r < json_array_size(rows); r++) {
    const json_t *cell = json_array_get(json_array_get(rows, r), index);
    if (!json_is_number(cell)) continue;
    largest = fmax(largest, fabs(json_number_value(cell)));
    all_short = all_short && is_short(json_number_value(cell));
  }
  if (all_short || largest < 1e-3 || largest >= 1e9) return FORM_FREE;
  return (int)fmin(4, fmax(0, 4 - floor(log10(largest))));
}

/* Names that begin alike for long are cut in that part, others at their end. */
static size_t kept_of(const json_t *rows, size_t index)
{
  enum { FRONT = 8 };
  const char *first = json_string_value(json_array_get(json_array_get(rows, 0), index));
  size_t alike = first != NULL ? strlen(first) : 0;
  for (size_t r = 1; r < json_array_size(rows); r++) {
    const char *other = json_string_value(json_array_get(json_array_get(rows, r), index));
    size_t same = 0;
    while (other != NULL && same < alike && other[same] == first[same]) same++;
    alike = same;
  }
  return json_array_size(rows) > 1 && alike > FRONT ? FRONT : WIDEST_CELL;
}

static column measure(const text_form *form, const json_t *name, const json_t *rows,
                      size_t index)
{
  column c = {.width = cell_width(form, name, FORM_FREE),
              .numbers = true,
              .decimals = decimals_of(rows, index),
              .kept = kept_of(rows, index)};
  for (size_t r = 0; r < json_array_size(rows); r++) {
    const json_t *cell = json_array_get(json_array_get(rows, r), index);
    const size_t width = cell_width(form, cell, c.decimals);
    if (width > c.width) c.width = width;
    c.numbers = c.numbers && !json_is_string(cell);
  }
  return c;
}

/* The first column and those from `first` to before `end`. */
static void print_row(text_form *form, const json_t *row, const column *columns, size_t first,
                      size_t end)
{
  form_print(form, "  ");
  print_cell(form, json_array_get(row, 0), &columns[0]);
  for (size_t c = first; c < end; c++) {
    form_print(form, "%*s", GAP, "");
    print_cell(form, json_array_get(row, c), &columns[c]);
  }
  form_print(form, "\n");
}

/* As many columns, from `first`, as fit beside the first column of all; at least one. */
static size_t columns_that_fit(const text_form *form, const column *columns, size_t first,
                               size_t count, size_t *total)
{
  size_t end = first;
  *total = columns[0].width;
  while (end < count && (end == first || form->whole_tables ||
                         2 + *total + GAP + columns[end].width <= form->width))
    *total += GAP + columns[end++].width;
  return end;
}

/* A table wider than the terminal is printed in parts, each with the first column. */
static void print_table(text_form *form, const json_t *table)
{
  const json_t *names = json_object_get(table, "columns");
  const json_t *rows = json_object_get(table, "rows");
  const size_t all = json_array_size(names), count = all < MOST_COLUMNS ? all : MOST_COLUMNS;
  column columns[MOST_COLUMNS];
  for (size_t c = 0; c < count; c++)
    columns[c] = measure(form, json_array_get(names, c), rows, c);
  form_wrap(form, "", text_of(table, "title"));
  for (size_t first = 1, end = 1; count > 0 && end <= count; first = end) {
    size_t total = 0;
    end = columns_that_fit(form, columns, first, count, &total);
    print_row(form, names, columns, first, end);
    form_print(form, "  ");
    form_repeat(form, "─", total);
    form_print(form, "\n");
    for (size_t r = 0; r < json_array_size(rows); r++)
      print_row(form, json_array_get(rows, r), columns, first, end);
    form_print(form, "\n");
    if (end == count) break;
  }
}

static void print_figure(text_form *form, const json_t *figure)
{
  const char *paper = text_of(figure, "paper"), *finding = text_of(figure, "finding");
  const json_t *charts = json_object_get(figure, "charts");
  const json_t *tables = json_object_get(figure, "tables");
  form_repeat(form, "═", form->width);
  form_print(form, "\n");
  form_wrap(form, "", text_of(figure, "title"));
  if (paper[0] != '\0') form_wrap(form, "  the paper:  ", paper);
  if (finding[0] != '\0') form_wrap(form, "  these runs: ", finding);
  form_print(form, "\n");
  for (size_t i = 0; i < json_array_size(charts); i++) {
    form_wrap(form, "", text_of(json_array_get(charts, i), "title"));
    text_plot(form, json_array_get(charts, i));
    form_print(form, "\n");
  }
  for (size_t i = 0; i < json_array_size(tables); i++)
    print_table(form, json_array_get(tables, i));
}

mousse_status report_text(const json_t *results, size_t width, mo_buffer *text, mo_error *error)
{
  text_form form = {.text = text, .width = width, .whole_tables = width == 0};
  if (width < 40) form.width = width == 0 ? USUAL_WIDTH : 40;
  MO_TRY(results_check(results, error));
  const json_t *notes = json_object_get(results, "notes");
  const json_t *figures = json_object_get(results, "figures");
  form_wrap(&form, "", text_of(results, "title"));
  form_wrap(&form, "  ", text_of(results, "command"));
  form_wrap(&form, "  ", text_of(results, "made_by"));
  form_wrap(&form, "  ", text_of(results, "machine"));
  for (size_t i = 0; i < json_array_size(notes); i++)
    form_wrap(&form, "  - ", json_string_value(json_array_get(notes, i)));
  form_print(&form, "\n");
  for (size_t i = 0; i < json_array_size(figures); i++)
    print_figure(&form, json_array_get(figures, i));
  return form.no_memory ? mo_fail(error, MOUSSE_NO_MEMORY, "no memory for the text of a report")
                        : MOUSSE_OK;
}
