/* csv.h - a table as CSV (RFC 4180): fields separated by commas, in quotes where they need
 * them, a line end after each row. */
#ifndef MOUSSE_REPORT_CSV_H
#define MOUSSE_REPORT_CSV_H

#include "base/error.h"
#include "base/file.h"

#include <stdbool.h>

typedef struct csv_writer {
  mo_writer file;
  bool inside;          /* of a row */
  mousse_status status; /* of the first thing that failed; what follows does nothing */
  mo_error *error;      /* borrowed */
} csv_writer;

/* The file appears, complete, when it is closed without a failure. */
void csv_open(csv_writer *csv, const char *path, mo_error *error);
void csv_text(csv_writer *csv, const char *text);
void csv_number(csv_writer *csv, double value); /* empty when it is not finite */
void csv_end_row(csv_writer *csv);
mousse_status csv_close(csv_writer *csv);

#endif
