/* chart_style.h - the look of a series, the same in every form of a report: an optimizer has
 * the same colour everywhere, other names get theirs in the order in which they first appear.
 */
#ifndef MOUSSE_REPORT_CHART_STYLE_H
#define MOUSSE_REPORT_CHART_STYLE_H

#include <jansson.h>

/* Gives every series of a document that was checked the members "color", as "#rrggbb", and "dash":
 * 0 for a solid line, 1, 2, 3 for kinds of broken ones. A chart's only series of bars gets "colors"
 * as well, one for each category: that of the optimizer which it names, or that of the series. */
void chart_styles_add(json_t *results);

#endif
