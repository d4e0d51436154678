/* page_data.h - the files that a report's page is made of, embedded by cmake/embed.cmake. */
#ifndef MOUSSE_REPORT_PAGE_DATA_H
#define MOUSSE_REPORT_PAGE_DATA_H

#include <stddef.h>

extern const unsigned char page_html[], page_css[], page_js[], page_charts_js[],
    page_figures_js[], page_chart_js[];
extern const size_t page_html_size, page_css_size, page_js_size, page_charts_js_size,
    page_figures_js_size, page_chart_js_size;

#endif
