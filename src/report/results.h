/* results.h - the document of results: figures with charts and tables, as one JSON object. It
 * is what results.json holds and what every form of a report is made from (docs/report.md).
 *
 *     json_t *results = results_new("title", "mousse report runs");
 *     json_t *figure = results_figure(results, "lr-sweep", "title", "the paper's claim");
 *     json_t *chart = results_chart(figure, "title", results_axis("lr", "log"),
 *                                   results_axis("loss", "linear"));
 *     json_t *series = results_series(chart, "mousse", "line");
 *     results_point(series, 0.02, 3.1, 0.01);
 *
 * What is returned, except results_new and results_axis, is borrowed from what it was added to.
 * Out of memory is NULL, which every function here passes on; results_check tells it at the
 * end.
 */
#ifndef MOUSSE_REPORT_RESULTS_H
#define MOUSSE_REPORT_RESULTS_H

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>

/* command: how the document was made. The machine and the version are filled in. */
json_t *results_new(const char *title, const char *command);
void results_note(json_t *results, const char *text);

/* paper: what the paper claims, "" when it claims nothing. The finding is told once the runs
 * are read. */
json_t *results_figure(json_t *results, const char *id, const char *title, const char *paper);
void results_finding(json_t *figure, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void results_run(json_t *figure, const char *name); /* one that it is made from; once each */

/* scale: "linear" or "log". Owned, until results_chart takes it. */
json_t *results_axis(const char *label, const char *scale);
/* Of bars, which stand at 0, 1, ...; the names are added in that order. */
json_t *results_categories(const char *label);
void results_category(json_t *axis, const char *name);
json_t *results_chart(json_t *figure, const char *title, json_t *x, json_t *y);

/* The y axis fits this series, or this value with its spread; others may leave the chart and
 * are cut off. Without a call it fits all. */
void results_fit(json_t *chart, const json_t *series);
void results_fit_point(json_t *chart, double y, double spread);

/* Another x axis that readers of the page can choose: view 0, 1, ...; then every point of every
 * series gets its place on each of them. */
void results_view(json_t *chart, json_t *axis);
void results_also(json_t *series, size_t view, double x);

/* style: "line", "points" or "bars". */
json_t *results_series(json_t *chart, const char *name, const char *style);
/* A y that is not finite is a gap. spread: half of an error bar; NaN for none. */
void results_point(json_t *series, double x, double y, double spread);
/* With an interval that need not lie evenly around y; without both ends there is none. */
void results_point_between(json_t *series, double x, double y, double low, double high);
/* The ends of a point's error bar; false: it has none. */
bool results_interval(const json_t *point, double *low, double *high);

/* columns ends in NULL. A row is one array, made with results_text and results_number. */
json_t *results_table(json_t *figure, const char *title, const char *const *columns);
json_t *results_row(json_t *table);
void results_text(json_t *row, const char *text);
void results_number(json_t *row, double value); /* not finite: null, shown as a dash */

/* A document from a file, checked; owned by the caller. At most 256 MB. */
mousse_status results_read(json_t **results, const char *path, mo_error *error);
/* The same from text in memory; path is what messages call it. */
mousse_status results_parse(json_t **results, const char *path, const char *text, size_t size,
                            mo_error *error);

/* Every member has the type that the renderers expect; the sentence names the first that has
 * not. */
mousse_status results_check(const json_t *results, mo_error *error);

#endif
