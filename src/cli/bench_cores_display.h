/* bench_cores_display.h - what mousse bench --cores prints. */
#ifndef MOUSSE_CLI_BENCH_CORES_DISPLAY_H
#define MOUSSE_CLI_BENCH_CORES_DISPLAY_H

#include "bench/bench_cores.h"

/* "4,8,16" to numbers, each from 1 to CORES_MOST. */
mousse_status cores_parse(const char *text, cores_options *options, mo_error *error);

mousse_status cores_print(const cores_report *report, mo_error *error);
void cores_print_json(const cores_report *report);

#endif
