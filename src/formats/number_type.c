/* number_type.c - floats as files hold them. */
#include "formats/number_type.h"

#include "base/q8.h"

#include <stdbool.h>
#include <string.h>

const char *const number_type_names[] = {"f32", "f16", "bf16", "q8_0", NULL};

size_t number_bytes(number_type type, size_t count)
{
  switch (type) {
  case NUMBER_F32:
    return 4 * count;
  case NUMBER_F16:
  case NUMBER_BF16:
    return 2 * count;
  case NUMBER_Q8_0:
    return count / Q8_BLOCK * Q8_BYTES;
  }
  return 0;
}

static void put_half(unsigned char *bytes, uint16_t half)
{
  bytes[0] = (unsigned char)half;
  bytes[1] = (unsigned char)(half >> 8);
}

static void encode_block(const float *x, unsigned char *bytes)
{
  int8_t q[Q8_BLOCK];
  put_half(bytes, mo_q8_encode(x, q));
  memcpy(bytes + 2, q, sizeof q);
}

void number_encode(number_type type, const float *values, size_t count, unsigned char *bytes)
{
  if (type == NUMBER_F32) memcpy(bytes, values, 4 * count);
  if (type == NUMBER_F16)
    for (size_t i = 0; i < count; i++) put_half(bytes + 2 * i, mo_to_float16(values[i]));
  if (type == NUMBER_BF16)
    for (size_t i = 0; i < count; i++) put_half(bytes + 2 * i, mo_to_bfloat16(values[i]));
  if (type == NUMBER_Q8_0)
    for (size_t i = 0; i < count / Q8_BLOCK; i++)
      encode_block(values + i * Q8_BLOCK, bytes + i * Q8_BYTES);
}

static bool holds(number_type type, float value)
{
  switch (type) {
  case NUMBER_F32:
    return true;
  case NUMBER_F16:
    return !isfinite(value) || isfinite(mo_from_float16(mo_to_float16(value)));
  case NUMBER_BF16:
    return !isfinite(value) || isfinite(mo_from_bfloat16(mo_to_bfloat16(value)));
  case NUMBER_Q8_0:
    return mo_q8_holds(value);
  }
  return false;
}

mousse_status number_check(number_type type, const char *name, const float *values,
                           size_t count, mo_error *error)
{
  for (size_t i = 0; i < count; i++)
    if (!holds(type, values[i]))
      return mo_fail(error, MOUSSE_OUT_OF_RANGE,
                     "'%s' has the number %g, which %s cannot hold; choose --type f32", name,
                     (double)values[i], number_type_names[type]);
  return MOUSSE_OK;
}
