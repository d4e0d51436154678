/* saturate.h - float to 16 bits for weights: what is too large becomes the largest number, not
 * infinity, since a weight must stay finite. Infinities and NaN themselves are kept. Rounding is
 * to the nearest, of two equally near ones to the even one. */
#ifndef MOUSSE_OPTIM_SATURATE_H
#define MOUSSE_OPTIM_SATURATE_H

#include "base/half.h"

static inline uint16_t mo_saturate_bfloat16(float x)
{
  const uint32_t bits = mo_float_bits(x), sign = bits & 0x80000000u, size = bits ^ sign;
  const uint32_t rounded = size + 0x7fffu + ((size >> 16) & 1u);
  const uint32_t largest = 0x7f7f0000u;
  return (uint16_t)((sign | (size >= 0x7f800000u           ? size
                             : rounded > largest + 0xffffu ? largest
                                                           : rounded)) >>
                    16);
}

static inline uint16_t mo_saturate_float16(float x)
{
  const uint32_t bits = mo_float_bits(x), sign = bits >> 16 & 0x8000u,
                 size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
  if (size == 0x7f800000u) return (uint16_t)(sign | 0x7c00u);
  if (size >= 0x477ff000u) return (uint16_t)(sign | 0x7bffu); /* rounds to 65536 or more */
  if (size < 0x38800000u) { /* below 2^-14: 0.5 has steps of 2^-24, and rounds for us */
    const uint32_t half = mo_float_bits(mo_float_from_bits(size) + 0.5f);
    return (uint16_t)(sign | (half - mo_float_bits(0.5f)));
  }
  const uint32_t rounded = size + 0xfffu + ((size >> 13) & 1u);
  return (uint16_t)(sign | ((rounded - (112u << 23)) >> 13));
}

#endif
