/* json_lines.h - JSON as the program writes it: through Jansson, valid whatever the numbers are.
 */
#ifndef MOUSSE_SUPPORT_JSON_LINES_H
#define MOUSSE_SUPPORT_JSON_LINES_H

#include <jansson.h>

/* JSON has no infinity and no NaN: null stands for them. */
json_t *json_finite(double value);

/* The object as one line with its line end, to be freed by free(); numbers with nine digits.
 * Takes the object, which may be NULL. NULL: no memory. */
char *json_line(json_t *object);

#endif
