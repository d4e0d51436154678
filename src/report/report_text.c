/* report_text.c - a document of results for the terminal. */
#include "report/report.h"
#include "report/text_form.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_COLUMNS = 32, WIDEST_CELL = 40 };

static const char *text_of(const json_t *object, const char *key)
{
  return json_string_value(json_object_get(object, key));
}

/* How a column is printed: numbers at the right of it, text at the left. */
typedef struct column {
  size_t width;
  bool numbers;
  int decimals;
} column;

static const char *cell_text(const json_t *cell, int decimals, char number[FORM_NUMBER])
{
  if (json_is_string(cell)) return json_string_value(cell);
  return json_is_number(cell) ? form_decimals(json_number_value(cell), decimals, number) : "-";
}

static size_t cell_width(const json_t *cell, int decimals)
{
  char number[FORM_NUMBER];
  const size_t length = form_length(cell_text(cell, decimals, number));
  return length < WIDEST_CELL ? length : WIDEST_CELL;
}

static void print_cell(text_form *form, const json_t *cell, const column *c)
{
  char number[FORM_NUMBER];
  const size_t space = c->width - cell_width(cell, c->decimals);
  if (c->numbers) form_repeat(form, " ", space);
  form_foreign(form, cell_text(cell, c->decimals, number), WIDEST_CELL);
  if (!c->numbers) form_repeat(form, " ", space);
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

static column measure(const json_t *name, const json_t *rows, size_t index)
{
  column c = {.width = cell_width(name, FORM_FREE),
              .numbers = true,
              .decimals = decimals_of(rows, index)};
  for (size_t r = 0; r < json_array_size(rows); r++) {
    const json_t *cell = json_array_get(json_array_get(rows, r), index);
    const size_t width = cell_width(cell, c.decimals);
    if (width > c.width) c.width = width;
    c.numbers = c.numbers && !json_is_string(cell);
  }
  return c;
}

static void print_row(text_form *form, const json_t *row, const column *columns)
{
  for (size_t c = 0; c < json_array_size(row) && c < MOST_COLUMNS; c++) {
    form_print(form, c == 0 ? "  " : "   ");
    print_cell(form, json_array_get(row, c), &columns[c]);
  }
  form_print(form, "\n");
}

static void print_table(text_form *form, const json_t *table)
{
  const json_t *names = json_object_get(table, "columns");
  const json_t *rows = json_object_get(table, "rows");
  column columns[MOST_COLUMNS];
  size_t total = 0;
  for (size_t c = 0; c < json_array_size(names) && c < MOST_COLUMNS; c++) {
    columns[c] = measure(json_array_get(names, c), rows, c);
    total += columns[c].width + (c > 0 ? 3 : 0);
  }
  form_wrap(form, "", text_of(table, "title"));
  print_row(form, names, columns);
  form_print(form, "  ");
  form_repeat(form, "─", total);
  form_print(form, "\n");
  for (size_t r = 0; r < json_array_size(rows); r++)
    print_row(form, json_array_get(rows, r), columns);
  form_print(form, "\n");
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
  text_form form = {.text = text, .width = width < 40 ? 40 : width};
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
