/* exp.h - e^x as straight-line code that a compiler turns into vector instructions.
 *
 * e^x = 2^n * e^r with n = round(x / ln 2), |r| <= ln(2)/2, e^r by its Taylor polynomial of
 * degree 7 (remainder below 6e-9). The result is within 2 units in the last place for x in
 * [-87, 88] and clamped to the ends outside; NaN stays NaN.
 */
#ifndef MOUSSE_GPT_LAYERS_EXP_H
#define MOUSSE_GPT_LAYERS_EXP_H

#include <stdint.h>
#include <string.h>

static inline float fast_exp(float x)
{
  x = x < -87.0f ? -87.0f : x;
  x = x > 88.0f ? 88.0f : x;
  /* Adding 1.5 * 2^23 leaves the rounded quotient in the low bits of the sum. */
  const float magic = 12582912.0f;
  const float shifted = x * 1.44269504f + magic;
  const float n = shifted - magic;
  const float r = (x - n * 0.693145752f) - n * 1.42860677e-6f; /* ln 2 in two parts */
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  uint32_t bits = 0;
  memcpy(&bits, &shifted, sizeof bits);
  bits = (bits << 23) + 0x3f800000u; /* the float 2^n */
  float power = 0;
  memcpy(&power, &bits, sizeof power);
  return p * power;
}

#endif
