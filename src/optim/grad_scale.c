/* grad_scale.c - state on a scale that fits the gradient. */
#include "optim/grad_scale.h"

#include "linalg/vector.h"

#include <math.h>
#include <stdlib.h>

/* Exponents that are COMFORT from the scale's have room for squares and sums. 2^LIMIT and its
 * inverse are floats; beyond LIMIT + COMFORT there are only denormals, whose squares are then
 * above 1e-34: floats still. */
enum { COMFORT = 40, STRIDE = 32, LIMIT = 96 };

float mo_grad_scale(int scale_exponent)
{
  return ldexpf(1.0f, -scale_exponent);
}

int mo_grad_scale_held(int scale_exponent, const mo_state_array *arrays, size_t array_count,
                       float *const *state)
{
  int highest = -1000;
  for (size_t i = 0; i < array_count; i++) {
    int exponent = 0;
    if (arrays[i].degree == 0) continue;
    const float largest = arrays[i].side.size > 0 ? mo_side_largest(arrays[i].side, state[i])
                                                  : mo_largest(state[i], arrays[i].count);
    if (largest <= 0.0f) continue;
    frexpf(largest, &exponent);
    exponent = scale_exponent + exponent / arrays[i].degree;
    if (exponent > highest) highest = exponent;
  }
  return highest;
}

static int nearest_unit(int exponent)
{
  const int scale_exponent = STRIDE * (int)lround((double)exponent / STRIDE);
  return scale_exponent > LIMIT ? LIMIT : scale_exponent < -LIMIT ? -LIMIT : scale_exponent;
}

static void scale_part(const mo_state_array *part, float *data, float factor)
{
  if (part->side.size > 0)
    mo_side_scale(part->side, data, factor);
  else
    mo_scale(data, part->count, factor);
}

/* In steps of 2^32: the whole factor need not be a float. */
void mo_grad_scale_convert(int change, const mo_state_array *arrays, size_t array_count,
                           float *const *state)
{
  for (size_t i = 0; i < array_count; i++)
    for (int left = abs(change) * arrays[i].degree; left > 0; left -= STRIDE)
      scale_part(&arrays[i], state[i], ldexpf(1.0f, change > 0 ? -STRIDE : STRIDE));
}

bool mo_grad_scale_valid(int64_t scale_exponent)
{
  return scale_exponent >= -LIMIT && scale_exponent <= LIMIT && scale_exponent % STRIDE == 0;
}

bool mo_grad_scale_outgrown(int scale_exponent, float largest)
{
  int exponent = 0;
  if (largest == 0.0f) return false;
  frexpf(largest, &exponent);
  return abs(exponent - scale_exponent) > COMFORT;
}

int mo_grad_scale_change(int scale_exponent, float largest, int held,
                         const mo_state_array *arrays, size_t array_count, float *const *state)
{
  int exponent = 0;
  frexpf(largest, &exponent);
  const int wanted = nearest_unit(exponent > held ? exponent : held);
  mo_grad_scale_convert(wanted - scale_exponent, arrays, array_count, state);
  return wanted;
}
