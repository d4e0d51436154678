/* half.h - numbers of 16 bits to and from float, by their bits: the same result on every machine
 * and whatever the processor does with denormals.
 *
 *     bfloat16   1 sign, 8 exponent, 7 fraction: the upper half of a float
 *     float16    1 sign, 5 exponent, 10 fraction: up to 65504, denormal below 2^-14
 *
 * To 16 bits: to the nearest, ties to even; finite numbers stay finite.
 */
#ifndef MOUSSE_OPTIM_HALF_H
#define MOUSSE_OPTIM_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t mo_float_bits(float x)
{
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline float mo_bits_float(uint32_t bits)
{
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline float mo_from_bfloat16(uint16_t h)
{
  return mo_bits_float((uint32_t)h << 16);
}

static inline uint16_t mo_to_bfloat16(float x)
{
  const uint32_t bits = mo_float_bits(x), sign = bits & 0x80000000u, size = bits ^ sign;
  const uint32_t rounded = size + 0x7fffu + ((size >> 16) & 1u);
  const uint32_t largest = 0x7f7f0000u;
  return (uint16_t)((sign | (size >= 0x7f800000u           ? size
                             : rounded > largest + 0xffffu ? largest
                                                           : rounded)) >>
                    16);
}

static inline float mo_from_float16(uint16_t h)
{
  const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, size = h & 0x7fffu;
  const uint32_t normal = (size << 13) + ((size >= 0x7c00u ? 224u : 112u) << 23);
  const uint32_t denormal = mo_float_bits((float)size * 0x1p-24f);
  return mo_bits_float(sign | (size < 0x400u ? denormal : normal));
}

static inline uint16_t mo_to_float16(float x)
{
  const uint32_t bits = mo_float_bits(x), sign = bits >> 16 & 0x8000u,
                 size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
  if (size == 0x7f800000u) return (uint16_t)(sign | 0x7c00u);
  if (size >= 0x477ff000u) return (uint16_t)(sign | 0x7bffu); /* rounds to 65536 or more */
  if (size < 0x38800000u) { /* below 2^-14: 0.5 has steps of 2^-24, and rounds for us */
    const uint32_t half = mo_float_bits(mo_bits_float(size) + 0.5f);
    return (uint16_t)(sign | (half - mo_float_bits(0.5f)));
  }
  const uint32_t rounded = size + 0xfffu + ((size >> 13) & 1u);
  return (uint16_t)(sign | ((rounded - (112u << 23)) >> 13));
}

#endif
