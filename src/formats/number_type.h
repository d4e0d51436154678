/* number_type.h - numbers as files of weights hold them.
 *
 *     F32, F16, BF16   one number after the other (base/half.h)
 *     Q8_0             blocks of 32: a scale (F16) and 32 whole numbers of 8 bits (base/q8.h)
 */
#ifndef MOUSSE_FORMATS_NUMBER_TYPE_H
#define MOUSSE_FORMATS_NUMBER_TYPE_H

#include "base/error.h"

#include <stddef.h>

typedef enum number_type { NUMBER_F32, NUMBER_F16, NUMBER_BF16, NUMBER_Q8_0 } number_type;

extern const char *const number_type_names[]; /* "f32", ..., NULL */

enum { Q8_BLOCK = 32, Q8_BYTES = 2 + Q8_BLOCK };

/* Bytes of `count` numbers; Q8_0 needs a multiple of 32. */
size_t number_bytes(number_type type, size_t count);
void number_encode(number_type type, const float *values, size_t count, unsigned char *bytes);
/* Refuses numbers that would become infinite, and those that Q8_0 has none for: infinite and NaN.
 * name is the tensor's. */
mousse_status number_check(number_type type, const char *name, const float *values,
                           size_t count, mo_error *error);

#endif
