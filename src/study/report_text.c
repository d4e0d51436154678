/* report_text.c - a document of results for the terminal. */
#include "study/report.h"
#include "study/text_form.h"

#include <string.h>

enum { MOST_COLUMNS = 32, WIDEST_CELL = 40 };

static const char *text_of(const json_t *object, const char *key)
{
  return json_string_value(json_object_get(object, key));
}

static const char *cell_text(const json_t *cell, char number[FORM_NUMBER])
{
  if (json_is_string(cell)) return json_string_value(cell);
  return json_is_number(cell) ? form_number(json_number_value(cell), number) : "-";
}

static size_t cell_width(const json_t *cell)
{
  char number[FORM_NUMBER];
  const size_t length = form_length(cell_text(cell, number));
  return length < WIDEST_CELL ? length : WIDEST_CELL;
}

/* Numbers stand at the right of their column, text at the left. */
static void print_cell(text_form *form, const json_t *cell, size_t width, bool right)
{
  char number[FORM_NUMBER];
  const size_t space = width - cell_width(cell);
  if (right) form_repeat(form, " ", space);
  form_foreign(form, cell_text(cell, number), WIDEST_CELL);
  if (!right) form_repeat(form, " ", space);
}

static bool is_numeric(const json_t *rows, size_t column)
{
  for (size_t r = 0; r < json_array_size(rows); r++)
    if (json_is_string(json_array_get(json_array_get(rows, r), column))) return false;
  return true;
}

static void print_row(text_form *form, const json_t *row, const size_t *widths,
                      const bool *right)
{
  for (size_t c = 0; c < json_array_size(row) && c < MOST_COLUMNS; c++) {
    form_print(form, c == 0 ? "  " : "   ");
    print_cell(form, json_array_get(row, c), widths[c], right[c]);
  }
  form_print(form, "\n");
}

static void print_table(text_form *form, const json_t *table)
{
  const json_t *columns = json_object_get(table, "columns");
  const json_t *rows = json_object_get(table, "rows");
  size_t widths[MOST_COLUMNS] = {0}, total = 0;
  bool right[MOST_COLUMNS] = {0};
  for (size_t c = 0; c < json_array_size(columns) && c < MOST_COLUMNS; c++) {
    right[c] = is_numeric(rows, c);
    widths[c] = cell_width(json_array_get(columns, c));
    for (size_t r = 0; r < json_array_size(rows); r++) {
      const size_t width = cell_width(json_array_get(json_array_get(rows, r), c));
      if (width > widths[c]) widths[c] = width;
    }
    total += widths[c] + (c > 0 ? 3 : 0);
  }
  form_wrap(form, "", text_of(table, "title"));
  print_row(form, columns, widths, right);
  form_print(form, "  ");
  form_repeat(form, "─", total);
  form_print(form, "\n");
  for (size_t r = 0; r < json_array_size(rows); r++)
    print_row(form, json_array_get(rows, r), widths, right);
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

mousse_status report_text(const json_t *results, size_t width, text_buffer *text,
                          mo_error *error)
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
