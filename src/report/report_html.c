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

char *report_drawing(const json_t *results)
{
  json_t *copy = json_deep_copy(results);
  if (copy == NULL) return NULL;
  chart_styles_add(copy);
  char *text = json_dumps(copy, JSON_COMPACT | JSON_REAL_PRECISION(9));
  json_decref(copy);
  return text;
}

static bool add_results(mo_buffer *page, const json_t *results)
{
  char *text = report_drawing(results);
  bool added = text != NULL;
  for (const char *from = text; added && *from != '\0';) {
    const size_t plain = strcspn(from, "<");
    added = mo_buffer_add(page, from, plain);
    from += plain;
    if (*from == '<') added = added && mo_buffer_add(page, "\\u003c", 6);
    from += *from == '<';
  }
  free(text);
  return added;
}

static bool is_line(const char *line, size_t size, const char *text)
{
  return size == strlen(text) && memcmp(line, text, size) == 0;
}

static bool add_line(mo_buffer *page, const json_t *results, const char *line, size_t size)
{
  static const struct {
    const char *mark;
    const unsigned char *data;
    const size_t *size;
  } parts[] = {{"@style@\n", page_css, &page_css_size},
               {"@charts@\n", page_chart_js, &page_chart_js_size},
               {"@drawing@\n", page_charts_js, &page_charts_js_size},
               {"@figures@\n", page_figures_js, &page_figures_js_size},
               {"@script@\n", page_js, &page_js_size}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (is_line(line, size, parts[i].mark))
      return mo_buffer_add(page, (const char *)parts[i].data, *parts[i].size);
  if (is_line(line, size, "@results@\n")) return add_results(page, results);
  return mo_buffer_add(page, line, size);
}

static bool add_lines(mo_buffer *page, const json_t *results)
{
  const char *line = (const char *)page_html, *end = line + page_html_size;
  while (line < end) {
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    const char *next = newline != NULL ? newline + 1 : end;
    if (!add_line(page, results, line, (size_t)(next - line))) return false;
    line = next;
  }
  return true;
}

mousse_status report_page(const json_t *results, mo_buffer *page, mo_error *error)
{
  MO_TRY(results_check(results, error));
  if (add_lines(page, results)) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for the page of a report");
}

mousse_status report_write(const json_t *results, const char *path, mo_error *error)
{
  mo_buffer page = {0};
  mousse_status status = report_page(results, &page, error);
  if (status == MOUSSE_OK) status = mo_file_write(path, page.data, page.size, error);
  mo_buffer_close(&page);
  return status;
}
