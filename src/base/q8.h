/* q8.h - blocks of 32 numbers as whole numbers of 8 bits with one scale, Q8_0 of llama.cpp:
 *
 *     x = d q,  d = max |x| / 127 in half precision,  q = x / d rounded, halves away from zero
 */
#ifndef MOUSSE_BASE_Q8_H
#define MOUSSE_BASE_Q8_H

#include "base/half.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

enum { MO_Q8_BLOCK = 32 };

/* Whether a block can hold a number: a finite one that does not need a larger scale than there is. */
static inline bool mo_q8_holds(float x)
{
  return fabsf(x) <= 127 * 65504.0f; /* false for NaN */
}

/* The whole numbers of one block of such numbers; returns its scale, a half-precision number. */
static inline uint16_t mo_q8_encode(const float *x, int8_t *q)
{
  float largest = 0.0f;
  for (size_t i = 0; i < MO_Q8_BLOCK; i++) largest = fmaxf(largest, fabsf(x[i]));
  const float step = largest / 127.0f, inverse = step >= FLT_MIN ? 1.0f / step : 0.0f;
  for (size_t i = 0; i < MO_Q8_BLOCK; i++) q[i] = (int8_t)roundf(x[i] * inverse);
  return mo_to_float16(step);
}

#endif
