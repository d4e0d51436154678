/* report_csv.c - the charts and tables of a document of results as CSV.
 *
 *     ID.csv, ID-2.csv, ...           charts: series, x, y, spread, the ends of the error bar, and x
 *                                     along the other axes
 *     ID-table.csv, ID-table-2.csv    tables, as they are
 */
#include "report/csv.h"
#include "report/report.h"

#include <math.h>
#include <stdio.h>

static double number_at(const json_t *list, size_t index)
{
  const json_t *value = json_array_get(list, index);
  return json_is_number(value) ? json_number_value(value) : NAN;
}

static const char *text_of(const json_t *object, const char *key)
{
  return json_string_value(json_object_get(object, key));
}

static void write_head(csv_writer *csv, const json_t *chart)
{
  const json_t *views = json_object_get(chart, "views");
  csv_text(csv, "series");
  csv_text(csv, text_of(json_object_get(chart, "x"), "label"));
  csv_text(csv, text_of(json_object_get(chart, "y"), "label"));
  csv_text(csv, "spread");
  csv_text(csv, "low");
  csv_text(csv, "high");
  for (size_t v = 0; v < json_array_size(views); v++)
    csv_text(csv, text_of(json_array_get(views, v), "label"));
  csv_end_row(csv);
}

static void write_series(csv_writer *csv, const json_t *chart, const json_t *series)
{
  const json_t *categories = json_object_get(json_object_get(chart, "x"), "categories");
  const json_t *points = json_object_get(series, "points");
  const json_t *views = json_object_get(series, "views");
  for (size_t i = 0; i < json_array_size(points); i++) {
    const json_t *point = json_array_get(points, i);
    const double x = number_at(point, 0);
    double low = 0, high = 0;
    const json_t *name = x >= 0 && x < 1e6 ? json_array_get(categories, (size_t)x) : NULL;
    csv_text(csv, text_of(series, "name"));
    if (name != NULL)
      csv_text(csv, json_string_value(name));
    else
      csv_number(csv, x);
    csv_number(csv, number_at(point, 1));
    csv_number(csv, number_at(point, 2));
    const bool has_ends = results_interval(point, &low, &high);
    csv_number(csv, has_ends ? low : NAN);
    csv_number(csv, has_ends ? high : NAN);
    for (size_t v = 0; v < json_array_size(views); v++)
      csv_number(csv, number_at(json_array_get(views, v), i));
    csv_end_row(csv);
  }
}

static void write_chart(csv_writer *csv, const json_t *chart)
{
  const json_t *list = json_object_get(chart, "series");
  write_head(csv, chart);
  for (size_t i = 0; i < json_array_size(list); i++)
    write_series(csv, chart, json_array_get(list, i));
}

static void write_row(csv_writer *csv, const json_t *row)
{
  for (size_t c = 0; c < json_array_size(row); c++) {
    const json_t *cell = json_array_get(row, c);
    if (json_is_string(cell))
      csv_text(csv, json_string_value(cell));
    else
      csv_number(csv, number_at(row, c));
  }
  csv_end_row(csv);
}

static void write_table(csv_writer *csv, const json_t *table)
{
  const json_t *rows = json_object_get(table, "rows");
  write_row(csv, json_object_get(table, "columns"));
  for (size_t i = 0; i < json_array_size(rows); i++) write_row(csv, json_array_get(rows, i));
}

/* All of one kind of a figure, each in its file. */
static mousse_status write_all(const json_t *figure, const char *key, const char *ending,
                               void (*write)(csv_writer *, const json_t *),
                               const char *directory, mo_error *error)
{
  const json_t *list = json_object_get(figure, key);
  for (size_t i = 0; i < json_array_size(list); i++) {
    char name[128], number[24] = "", path[4096];
    csv_writer csv;
    if (i > 0) snprintf(number, sizeof number, "-%zu", i + 1);
    snprintf(name, sizeof name, "%s%s%s.csv", text_of(figure, "id"), ending, number);
    MO_TRY(mo_path_join(path, sizeof path, directory, name, error));
    csv_open(&csv, path, error);
    write(&csv, json_array_get(list, i));
    MO_TRY(csv_close(&csv));
  }
  return MOUSSE_OK;
}

mousse_status report_csv(const json_t *results, const char *directory, mo_error *error)
{
  MO_TRY(results_check(results, error));
  MO_TRY(mo_make_directories(directory, error));
  const json_t *figures = json_object_get(results, "figures");
  for (size_t i = 0; i < json_array_size(figures); i++) {
    const json_t *figure = json_array_get(figures, i);
    MO_TRY(write_all(figure, "charts", "", write_chart, directory, error));
    MO_TRY(write_all(figure, "tables", "-table", write_table, directory, error));
  }
  return MOUSSE_OK;
}
