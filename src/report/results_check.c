/* results_check.c - a document of results, checked before anything is made from it, because it
 * may come from a file. */
#include "report/results.h"

#include "base/file.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "base/table.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST_ID = 64, LARGEST_DOCUMENT = 256 << 20, MOST_VALUES = 1 << 22 };

static mousse_status wrong(const char *where, const char *key, const char *expected,
                           mo_error *error)
{
  return mo_fail(error, MOUSSE_BAD_FORMAT, "results: %s: '%s' must be %s", where, key,
                 expected);
}

static mousse_status check_texts(const json_t *object, const char *where,
                                 const char *const *keys, mo_error *error)
{
  if (!json_is_object(object)) return wrong(where, "", "an object", error);
  for (; *keys != NULL; keys++)
    if (!json_is_string(json_object_get(object, *keys)))
      return wrong(where, *keys, "text", error);
  return MOUSSE_OK;
}

/* An array whose elements each pass. */
static mousse_status
check_list(const json_t *object, const char *where, const char *key,
           mousse_status (*check)(const json_t *, const char *, mo_error *), mo_error *error)
{
  const json_t *list = json_object_get(object, key);
  if (!json_is_array(list)) return wrong(where, key, "a list", error);
  for (size_t i = 0; i < json_array_size(list); i++)
    MO_TRY(check(json_array_get(list, i), where, error));
  return MOUSSE_OK;
}

static mousse_status check_text(const json_t *value, const char *where, mo_error *error)
{
  return json_is_string(value) ? MOUSSE_OK : wrong(where, "element", "text", error);
}

static bool is_number_or_null(const json_t *value)
{
  return json_is_number(value) || json_is_null(value);
}

static mousse_status check_point(const json_t *point, const char *where, mo_error *error)
{
  const size_t size = json_array_size(point); /* 0 when it is no array */
  if (size != 2 && size != 3 && size != 5)
    return wrong(where, "points", "[x, y], [x, y, spread] or [x, y, null, low, high]", error);
  for (size_t i = 0; i < size; i++)
    if (!is_number_or_null(json_array_get(point, i)))
      return wrong(where, "points", "numbers or null", error);
  return MOUSSE_OK;
}

/* A series has its place on every view of its chart, as many as it has points. */
static mousse_status check_views(const json_t *series, const char *where, mo_error *error)
{
  const json_t *views = json_object_get(series, "views");
  const size_t points = json_array_size(json_object_get(series, "points"));
  if (views != NULL && !json_is_array(views)) return wrong(where, "views", "a list", error);
  for (size_t v = 0; v < json_array_size(views); v++) {
    const json_t *places = json_array_get(views, v);
    if (!json_is_array(places) || json_array_size(places) != points)
      return wrong(where, "views", "lists as long as the points", error);
    for (size_t i = 0; i < points; i++)
      if (!is_number_or_null(json_array_get(places, i)))
        return wrong(where, "views", "lists of numbers or null", error);
  }
  return MOUSSE_OK;
}

static mousse_status check_series(const json_t *series, const char *where, mo_error *error)
{
  static const char *const texts[] = {"name", NULL};
  const json_t *style = json_object_get(series, "style");
  MO_TRY(check_texts(series, where, texts, error));
  if (style != NULL && !json_is_string(style)) return wrong(where, "style", "text", error);
  MO_TRY(check_list(series, where, "points", check_point, error));
  return check_views(series, where, error);
}

static mousse_status check_range(const json_t *axis, const char *where, mo_error *error)
{
  const json_t *range = json_object_get(axis, "range");
  const json_t *low = json_array_get(range, 0), *high = json_array_get(range, 1);
  if (range == NULL ||
      (json_array_size(range) == 2 && json_is_number(low) && json_is_number(high) &&
       json_number_value(low) <= json_number_value(high)))
    return MOUSSE_OK;
  return wrong(where, "range", "two rising numbers", error);
}

static mousse_status check_axis(const json_t *axis, const char *where, mo_error *error)
{
  static const char *const texts[] = {"label", NULL};
  MO_TRY(check_texts(axis, where, texts, error));
  if (json_object_get(axis, "categories") != NULL)
    return check_list(axis, where, "categories", check_text, error);
  const json_t *scale = json_object_get(axis, "scale");
  MO_TRY(check_range(axis, where, error));
  return scale == NULL || json_is_string(scale)
             ? MOUSSE_OK
             : wrong(where, "scale", "'linear' or 'log'", error);
}

static mousse_status check_view_counts(const json_t *chart, const char *where, mo_error *error)
{
  const size_t views = json_array_size(json_object_get(chart, "views"));
  const json_t *list = json_object_get(chart, "series");
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *series = json_array_get(list, i);
    const bool empty = json_array_size(json_object_get(series, "points")) == 0;
    if (!empty && json_array_size(json_object_get(series, "views")) != views)
      return wrong(where, "views", "as many in every series as in the chart", error);
  }
  return MOUSSE_OK;
}

static mousse_status check_chart(const json_t *chart, const char *where, mo_error *error)
{
  static const char *const texts[] = {"title", NULL};
  MO_TRY(check_texts(chart, where, texts, error));
  MO_TRY(check_axis(json_object_get(chart, "x"), where, error));
  MO_TRY(check_axis(json_object_get(chart, "y"), where, error));
  if (json_object_get(chart, "views") != NULL)
    MO_TRY(check_list(chart, where, "views", check_axis, error));
  MO_TRY(check_list(chart, where, "series", check_series, error));
  return check_view_counts(chart, where, error);
}

static mousse_status check_cell(const json_t *cell, const char *where, mo_error *error)
{
  return json_is_string(cell) || is_number_or_null(cell)
             ? MOUSSE_OK
             : wrong(where, "rows", "lists of text, numbers or null", error);
}

static mousse_status check_table(const json_t *table, const char *where, mo_error *error)
{
  static const char *const texts[] = {"title", NULL};
  MO_TRY(check_texts(table, where, texts, error));
  MO_TRY(check_list(table, where, "columns", check_text, error));
  const json_t *rows = json_object_get(table, "rows");
  if (!json_is_array(rows)) return wrong(where, "rows", "a list", error);
  for (size_t i = 0; i < json_array_size(rows); i++) {
    const json_t *row = json_array_get(rows, i);
    if (json_array_size(row) != json_array_size(json_object_get(table, "columns")))
      return wrong(where, "rows", "lists as long as the columns", error);
    for (size_t j = 0; j < json_array_size(row); j++)
      MO_TRY(check_cell(json_array_get(row, j), where, error));
  }
  return MOUSSE_OK;
}

/* An id names files and places in the page. */
static bool is_id(const char *id)
{
  size_t length = 0;
  while (isalnum((unsigned char)id[length]) || id[length] == '-' || id[length] == '_') length++;
  return length > 0 && length <= LONGEST_ID && id[length] == '\0';
}

static mousse_status check_figure(const json_t *figure, const char *where, mo_error *error)
{
  static const char *const texts[] = {"id", "title", "paper", "finding", NULL};
  char name[LONGEST_ID + 16];
  MO_TRY(check_texts(figure, where, texts, error));
  const char *id = json_string_value(json_object_get(figure, "id"));
  if (!is_id(id)) return wrong(where, "id", "letters, digits, '-' and '_'", error);
  snprintf(name, sizeof name, "figure %s", id);
  MO_TRY(check_list(figure, name, "charts", check_chart, error));
  MO_TRY(check_list(figure, name, "tables", check_table, error));
  return check_list(figure, name, "runs", check_text, error);
}

static mousse_status check_ids(const json_t *figures, mo_error *error)
{
  mo_text_table ids = {0};
  mousse_status status = MOUSSE_OK;
  for (size_t i = 0; i < json_array_size(figures) && status == MOUSSE_OK; i++) {
    uint32_t number = 0;
    bool is_new = false;
    const char *id = json_string_value(json_object_get(json_array_get(figures, i), "id"));
    if (!mo_text_table_add(&ids, id, strlen(id), &number, &is_new))
      status = mo_fail(error, MOUSSE_NO_MEMORY, "results: no memory to check them");
    else if (!is_new)
      status = mo_fail(error, MOUSSE_BAD_FORMAT, "results: two figures have the id '%s'", id);
  }
  mo_text_table_close(&ids);
  return status;
}

mousse_status results_check(const json_t *results, mo_error *error)
{
  static const char *const texts[] = {"title", "made_by", "command", "machine", NULL};
  if (results == NULL)
    return mo_fail(error, MOUSSE_NO_MEMORY, "results: no memory to put them together");
  MO_TRY(check_texts(results, "document", texts, error));
  MO_TRY(check_list(results, "document", "notes", check_text, error));
  MO_TRY(check_list(results, "document", "figures", check_figure, error));
  return check_ids(json_object_get(results, "figures"), error);
}

mousse_status results_parse(json_t **results, const char *path, const char *text, size_t size,
                            mo_error *error)
{
  mo_error reason = {{0}};
  MO_TRY(mo_json_parse(results, path, text, size, MOST_VALUES, JSON_REJECT_DUPLICATES, error));
  const mousse_status status = results_check(*results, &reason);
  if (status == MOUSSE_OK) return MOUSSE_OK;
  json_decref(*results);
  *results = NULL;
  return mo_fail(error, status, "%.200s: %.280s", path, reason.text);
}

mousse_status results_read(json_t **results, const char *path, mo_error *error)
{
  char *text = NULL;
  size_t size = 0;
  *results = NULL;
  MO_TRY(mo_file_read(NULL, path, LARGEST_DOCUMENT, &text, &size, error));
  const mousse_status status = results_parse(results, path, text, size, error);
  mo_release(NULL, text, size + 1);
  return status;
}
