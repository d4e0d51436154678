/* chart_style.h - the look of a series, the same in every form of a report: an optimizer has
 * the same colour everywhere, other names get theirs in the order in which they first appear.
 */
#ifndef MOUSSE_REPORT_CHART_STYLE_H
#define MOUSSE_REPORT_CHART_STYLE_H

#include <jansson.h>

typedef struct chart_style {
  const char *color; /* "#rrggbb" */
  int dash;          /* 0: a solid line; 1, 2, 3: kinds of broken ones */
} chart_style;

enum { CHART_DASHES = 4 };

/* Of the series with this index in a chart of a document that was checked. */
chart_style chart_style_of(const json_t *results, const json_t *chart, size_t index);

/* Of one bar of a chart's only series: that of the optimizer which the category names, or that
 * of the series. */
const char *chart_bar_color(const json_t *results, const json_t *chart, size_t category);

#endif
