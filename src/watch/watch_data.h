/* watch_data.h - the files of the page on runs, embedded by cmake/embed.cmake. */
#ifndef MOUSSE_WATCH_WATCH_DATA_H
#define MOUSSE_WATCH_WATCH_DATA_H

#include <stddef.h>

extern const unsigned char watch_html[], watch_css[], watch_tools_js[], watch_runs_js[],
    watch_run_js[], watch_maps_js[], watch_js[];
extern const size_t watch_html_size, watch_css_size, watch_tools_js_size, watch_runs_js_size,
    watch_run_js_size, watch_maps_js_size, watch_js_size;

#endif
