/* report.h - a document of results (results.h) as files and text.
 *
 *     results --report_json--> results.json
 *             --report_write-> report.html   one page, complete in itself
 *             --report_svg---> DIR/ID.svg    one picture per chart, for papers
 *             --report_csv---> DIR/ID.csv    one per chart and table
 *             --report_text--> text          for the terminal
 *
 * Every function checks the document first.
 */
#ifndef MOUSSE_REPORT_REPORT_H
#define MOUSSE_REPORT_REPORT_H

#include "base/buffer.h"
#include "report/results.h"

mousse_status report_json(const json_t *results, const char *path, mo_error *error);
mousse_status report_write(const json_t *results, const char *path, mo_error *error);

/* The same page in memory, appended; and the document as its scripts draw it, with the colours
 * and dashes of every series, to be freed by free(). NULL: no memory. */
mousse_status report_page(const json_t *results, mo_buffer *page, mo_error *error);
char *report_drawing(const json_t *results); /* one that was checked */

/* Makes the directory; a figure's later charts are ID-2.svg, ID-3.svg. Needs gnuplot. */
mousse_status report_svg(const json_t *results, const char *directory, mo_error *error);

/* Makes the directory; names as of pictures, tables are ID-table.csv. */
mousse_status report_csv(const json_t *results, const char *directory, mo_error *error);

/* Appended to text. width: columns of the terminal; 0: there is none, and tables are complete. */
mousse_status report_text(const json_t *results, size_t width, mo_buffer *text,
                          mo_error *error);

#endif
