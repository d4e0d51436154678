/* gnuplot_script.h - a chart as commands and data for gnuplot, which draws it as SVG. */
#ifndef MOUSSE_REPORT_GNUPLOT_SCRIPT_H
#define MOUSSE_REPORT_GNUPLOT_SCRIPT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* A chart without a single point on its axes cannot be drawn. */
bool gnuplot_can_draw(const json_t *chart);

/* chart: with the looks of its series (chart_style.h). Nothing in its texts can end them or run a
 * command. */
void gnuplot_script(FILE *script, const json_t *chart);

#endif
