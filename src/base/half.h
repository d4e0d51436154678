/* half.h - numbers of 16 bits: bfloat16, the upper half of a float, and IEEE half precision.
 *
 * Widening is exact; narrowing rounds to the nearest, of two equally near ones to the even one,
 * and keeps infinities and NaN.
 */
#ifndef MOUSSE_BASE_HALF_H
#define MOUSSE_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline float mo_float_from_bits(uint32_t bits)
{
  float value = 0;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline uint32_t mo_float_bits(float value)
{
  uint32_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline float mo_from_bfloat16(uint16_t half)
{
  return mo_float_from_bits((uint32_t)half << 16);
}

static inline uint16_t mo_to_bfloat16(float value)
{
  const uint32_t bits = mo_float_bits(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40); /* NaN */
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

/* By bits and, for denormal numbers, a product of normal ones: the same whatever the processor
 * does with denormals. */
static inline float mo_from_float16(uint16_t half)
{
  const uint32_t sign = (uint32_t)(half & 0x8000u) << 16, size = half & 0x7fffu;
  const uint32_t normal = (size << 13) + ((size >= 0x7c00u ? 224u : 112u) << 23);
  const uint32_t denormal = mo_float_bits((float)size * 0x1p-24f);
  return mo_float_from_bits(sign | (size < 0x400u ? denormal : normal));
}

/* The way back: below the smallest normal number 2^-14 the float's own addition rounds to
 * multiples of 2^-24; above it rounding is done on the bits. */
static inline uint16_t mo_to_float16(float value)
{
  const uint32_t bits = mo_float_bits(value), size = bits & 0x7fffffffu;
  const uint32_t sign = bits >> 16 & 0x8000u;
  if (size > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);  /* NaN */
  if (size >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); /* from 65520 on: infinity */
  if (size < 0x38800000u)
    return (uint16_t)(sign | (mo_float_bits(mo_float_from_bits(size) + 0.5f) - 0x3f000000u));
  return (uint16_t)(sign | ((size - 0x38000000u + 0xfffu + (size >> 13 & 1)) >> 13));
}

#endif
