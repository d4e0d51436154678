/* report_html.c - report.html: one page with its style, its script, Chart.js and the results in
 * it. page/page.html is the frame; a line of it such as @style@ stands for one of these.
 *
 * In the page the results are JSON in which '<' is \u003c, so that no text can end the script
 * element that holds them; everything else is done by page/page.js.
 */
#include "base/file.h"
#include "report/chart_style.h"
#include "report/page_data.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

/* Of a chart with one series of bars: the colour of each, in "colors". */
static void add_bar_colors(const json_t *copy, const json_t *chart)
{
  const json_t *categories = json_object_get(json_object_get(chart, "x"), "categories");
  json_t *list = json_object_get(chart, "series"), *colors = NULL;
  if (categories == NULL || json_array_size(list) != 1) return;
  colors = json_array();
  for (size_t i = 0; i < json_array_size(categories); i++)
    json_array_append_new(colors, json_string(chart_bar_color(copy, chart, i)));
  json_object_set_new(json_array_get(list, 0), "colors", colors);
}

/* The look of every series of a chart, for the script: members "color" and "dash". */
static void add_looks_to(const json_t *copy, const json_t *chart)
{
  json_t *list = json_object_get(chart, "series");
  for (size_t i = 0; i < json_array_size(list); i++) {
    const chart_style look = chart_style_of(copy, chart, i);
    json_object_set_new(json_array_get(list, i), "color", json_string(look.color));
    json_object_set_new(json_array_get(list, i), "dash", json_integer(look.dash));
  }
  add_bar_colors(copy, chart);
}

static void add_looks(const json_t *copy)
{
  const json_t *figures = json_object_get(copy, "figures");
  for (size_t f = 0; f < json_array_size(figures); f++) {
    const json_t *charts = json_object_get(json_array_get(figures, f), "charts");
    for (size_t c = 0; c < json_array_size(charts); c++)
      add_looks_to(copy, json_array_get(charts, c));
  }
}

/* NULL: no memory. */
static char *results_text_with_looks(const json_t *results)
{
  json_t *copy = json_deep_copy(results);
  if (copy == NULL) return NULL;
  add_looks(copy);
  char *text = json_dumps(copy, JSON_COMPACT | JSON_REAL_PRECISION(9));
  json_decref(copy);
  return text;
}

static mousse_status write_results(mo_writer *page, const json_t *results, mo_error *error)
{
  mousse_status status = MOUSSE_OK;
  char *text = results_text_with_looks(results);
  if (text == NULL)
    return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory to write it", page->path);
  for (const char *from = text; *from != '\0' && status == MOUSSE_OK;) {
    const size_t plain = strcspn(from, "<");
    status = mo_writer_write(page, from, plain, error);
    from += plain;
    if (*from == '<' && status == MOUSSE_OK)
      status = mo_writer_write(page, "\\u003c", 6, error);
    from += *from == '<';
  }
  free(text);
  return status;
}

static bool is_line(const char *line, size_t size, const char *text)
{
  return size == strlen(text) && memcmp(line, text, size) == 0;
}

static mousse_status write_line(mo_writer *page, const json_t *results, const char *line,
                                size_t size, mo_error *error)
{
  static const struct {
    const char *mark;
    const unsigned char *data;
    const size_t *size;
  } parts[] = {{"@style@\n", page_css, &page_css_size},
               {"@charts@\n", page_chart_js, &page_chart_js_size},
               {"@drawing@\n", page_charts_js, &page_charts_js_size},
               {"@script@\n", page_js, &page_js_size}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (is_line(line, size, parts[i].mark))
      return mo_writer_write(page, parts[i].data, *parts[i].size, error);
  if (is_line(line, size, "@results@\n")) return write_results(page, results, error);
  return mo_writer_write(page, line, size, error);
}

static mousse_status write_lines(mo_writer *page, const json_t *results, mo_error *error)
{
  const char *line = (const char *)page_html, *end = line + page_html_size;
  while (line < end) {
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    const char *next = newline != NULL ? newline + 1 : end;
    MO_TRY(write_line(page, results, line, (size_t)(next - line), error));
    line = next;
  }
  return MOUSSE_OK;
}

mousse_status report_write(const json_t *results, const char *path, mo_error *error)
{
  mo_writer page;
  MO_TRY(results_check(results, error));
  MO_TRY(mo_writer_open(&page, path, error));
  const mousse_status status = write_lines(&page, results, error);
  if (status == MOUSSE_OK) return mo_writer_commit(&page, error);
  mo_writer_abandon(&page);
  return status;
}
