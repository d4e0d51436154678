/* lines.h - a text, line by line. */
#ifndef MOUSSE_BASE_LINES_H
#define MOUSSE_BASE_LINES_H

#include "base/error.h"

#include <stddef.h>

/* Takes a line with its newline, which only the last of a text can lack: that is what a killed
 * process leaves. */
typedef mousse_status (*mo_line_taker)(void *context, const char *line, size_t size,
                                       mo_error *error);

/* Stops at the first line that is not taken, which the sentence names: "PATH: line N: why". */
mousse_status mo_lines_take(const char *path, const char *text, size_t size, mo_line_taker take,
                            void *context, mo_error *error);

/* The same of a file of any size, which is never in memory as a whole; a line longer than
 * MO_LONGEST_LINE is refused. */
enum { MO_LONGEST_LINE = 64 << 20 };
mousse_status mo_lines_read(const char *path, mo_line_taker take, void *context,
                            mo_error *error);

#endif
