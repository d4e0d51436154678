/* results.c - building a document of results. */
#include "report/results.h"

#include "base/json_text.h"
#include "base/machine.h"
#include "base/parallel.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

static json_t *number_value(double value)
{
  return isfinite(value) ? json_real(value) : json_null();
}

static void set_text(json_t *object, const char *key, const char *text)
{
  json_object_set_new(object, key, mo_json_text(text));
}

/* The member `key`, an array, gets one more; what is added is returned, borrowed. */
static json_t *append_to(json_t *object, const char *key, json_t *value)
{
  json_t *list = json_object_get(object, key);
  return json_array_append_new(list, value) == 0 ? value : NULL;
}

static void describe_machine(char text[256])
{
  char name[MO_PROCESSOR_NAME];
  struct utsname system = {0};
  const int threads = mo_threads_available();
  uname(&system);
  mo_processor_name(name);
  snprintf(text, 256, "%s, %d %s, %s", name, threads, threads == 1 ? "thread" : "threads",
           system.sysname);
}

json_t *results_new(const char *title, const char *command)
{
  char machine[256];
  json_t *results = json_object();
  describe_machine(machine);
  set_text(results, "title", title);
  set_text(results, "made_by", "mousse " MOUSSE_VERSION_TEXT);
  set_text(results, "command", command);
  set_text(results, "machine", machine);
  json_object_set_new(results, "notes", json_array());
  json_object_set_new(results, "figures", json_array());
  return results;
}

void results_note(json_t *results, const char *text)
{
  append_to(results, "notes", mo_json_text(text));
}

json_t *results_figure(json_t *results, const char *id, const char *title, const char *paper)
{
  json_t *figure = json_object();
  set_text(figure, "id", id);
  set_text(figure, "title", title);
  set_text(figure, "paper", paper);
  set_text(figure, "finding", "");
  json_object_set_new(figure, "charts", json_array());
  json_object_set_new(figure, "tables", json_array());
  json_object_set_new(figure, "runs", json_array());
  return append_to(results, "figures", figure);
}

void results_finding(json_t *figure, const char *format, ...)
{
  char text[2048];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  set_text(figure, "finding", text);
}

void results_run(json_t *figure, const char *name)
{
  json_t *value = mo_json_text(name), *run = NULL;
  size_t i = 0;
  json_array_foreach(json_object_get(figure, "runs"), i, run)
  {
    if (!json_equal(run, value)) continue;
    json_decref(value);
    return;
  }
  append_to(figure, "runs", value);
}

json_t *results_axis(const char *label, const char *scale)
{
  json_t *axis = json_object();
  set_text(axis, "label", label);
  set_text(axis, "scale", scale);
  return axis;
}

json_t *results_categories(const char *label)
{
  json_t *axis = json_object();
  set_text(axis, "label", label);
  json_object_set_new(axis, "categories", json_array());
  return axis;
}

void results_category(json_t *axis, const char *name)
{
  append_to(axis, "categories", mo_json_text(name));
}

json_t *results_chart(json_t *figure, const char *title, json_t *x, json_t *y)
{
  json_t *chart = json_object();
  set_text(chart, "title", title);
  json_object_set_new(chart, "x", x);
  json_object_set_new(chart, "y", y);
  json_object_set_new(chart, "series", json_array());
  return append_to(figure, "charts", chart);
}

json_t *results_series(json_t *chart, const char *name, const char *style)
{
  json_t *series = json_object();
  set_text(series, "name", name);
  set_text(series, "style", style);
  json_object_set_new(series, "points", json_array());
  return append_to(chart, "series", series);
}

void results_point(json_t *series, double x, double y, double spread)
{
  json_t *point = json_array();
  json_array_append_new(point, number_value(x));
  json_array_append_new(point, number_value(y));
  if (isfinite(spread)) json_array_append_new(point, json_real(spread));
  append_to(series, "points", point);
}

void results_point_between(json_t *series, double x, double y, double low, double high)
{
  if (!isfinite(low) || !isfinite(high))
    results_point(series, x, y, NAN);
  else
    append_to(series, "points",
              json_pack("[o, o, n, f, f]", number_value(x), number_value(y), low, high));
}

bool results_interval(const json_t *point, double *low, double *high)
{
  const json_t *y = json_array_get(point, 1), *spread = json_array_get(point, 2);
  const json_t *lower = json_array_get(point, 3), *upper = json_array_get(point, 4);
  if (!json_is_number(y)) return false;
  const double half = json_number_value(spread);
  *low = json_is_number(lower) ? json_number_value(lower) : json_number_value(y) - half;
  *high = json_is_number(upper) ? json_number_value(upper) : json_number_value(y) + half;
  return json_is_number(spread) || (json_is_number(lower) && json_is_number(upper));
}

/* "range": [low, high] of the y axis. */
void results_fit_point(json_t *chart, double y, double spread)
{
  json_t *axis = json_object_get(chart, "y"), *range = json_object_get(axis, "range");
  const double half = isfinite(spread) ? spread : 0;
  if (!isfinite(y)) return;
  double low = y - half, high = y + half;
  if (range != NULL) {
    low = fmin(low, json_number_value(json_array_get(range, 0)));
    high = fmax(high, json_number_value(json_array_get(range, 1)));
  }
  json_object_set_new(axis, "range", json_pack("[f, f]", low, high));
}

void results_fit(json_t *chart, const json_t *series)
{
  const json_t *points = json_object_get(series, "points");
  for (size_t i = 0; i < json_array_size(points); i++) {
    const json_t *point = json_array_get(points, i), *spread = json_array_get(point, 2);
    const json_t *y = json_array_get(point, 1);
    if (json_is_number(y))
      results_fit_point(chart, json_number_value(y), spread ? json_number_value(spread) : 0);
  }
}

void results_view(json_t *chart, json_t *axis)
{
  if (json_object_get(chart, "views") == NULL)
    json_object_set_new(chart, "views", json_array());
  append_to(chart, "views", axis);
}

void results_also(json_t *series, size_t view, double x)
{
  if (json_object_get(series, "views") == NULL)
    json_object_set_new(series, "views", json_array());
  json_t *views = json_object_get(series, "views");
  while (views != NULL && json_array_size(views) <= view)
    if (json_array_append_new(views, json_array()) != 0) return;
  json_array_append_new(json_array_get(views, view), number_value(x));
}

json_t *results_table(json_t *figure, const char *title, const char *const *columns)
{
  json_t *table = json_object(), *names = json_array();
  for (size_t i = 0; columns[i] != NULL; i++)
    json_array_append_new(names, mo_json_text(columns[i]));
  set_text(table, "title", title);
  json_object_set_new(table, "columns", names);
  json_object_set_new(table, "rows", json_array());
  return append_to(figure, "tables", table);
}

json_t *results_row(json_t *table)
{
  return append_to(table, "rows", json_array());
}

void results_text(json_t *row, const char *text)
{
  json_array_append_new(row, mo_json_text(text));
}

void results_number(json_t *row, double value)
{
  json_array_append_new(row, number_value(value));
}
