/* json_text.h - JSON text to Jansson's tree, at a bounded price: "{}," takes 3 bytes in a file and
 * some hundred in memory, so values are counted before the tree is built. And text of any bytes to
 * JSON. */
#ifndef MOUSSE_BASE_JSON_TEXT_H
#define MOUSSE_BASE_JSON_TEXT_H

#include "base/error.h"

#include <jansson.h>

/* At least as many as the text has values, for any text: opening brackets and commas outside of
 * strings, and one. */
size_t mo_json_values(const char *text, size_t size);

/* Fails when there are more than `most`. name: the file, or what messages call the text. */
mousse_status mo_json_bound(const char *name, const char *text, size_t size, size_t most,
                            mo_error *error);

/* Enough for whatever people read or a run writes at a time: a configuration, a line of metrics. */
enum { MO_JSON_FEW = 1 << 16 };

/* The tree of a text with at most `most_values` values. flags: Jansson's. name: the file, or
 * what messages call the text. */
mousse_status mo_json_parse(json_t **root, const char *name, const char *text, size_t size,
                            size_t most_values, size_t flags, mo_error *error);

/* The same of a line, of which the caller names the file and the number. Duplicate keys are
 * refused. */
mousse_status mo_json_line(json_t **root, const char *line, size_t size, size_t most_values,
                           mo_error *error);

/* A text from outside, such as a name of a file, which need not be UTF-8: a byte that is not becomes a
 * mark (U+FFFD) and its two digits, so that different names stay different. NULL: no memory. */
json_t *mo_json_text(const char *text);

#endif
