/* unit.c - state in a unit that fits the gradient. */
#include "optim/grad_scale.h"

#include "linalg/vector.h"

#include <math.h>
#include <stdlib.h>

enum {
  COMFORT = 40, /* exponents this far from the unit still have room for squares and sums */
  STRIDE = 32,
  LIMIT = 96 /* 2^LIMIT and its inverse are floats; with COMFORT this covers every float */
};

float mo_unit_gain(int unit)
{
  return ldexpf(1.0f, -unit);
}

int mo_unit_held(int unit, const mo_part *parts, size_t part_count, float *const *state)
{
  int highest = -1000;
  for (size_t i = 0; i < part_count; i++) {
    int exponent = 0;
    if (parts[i].degree == 0) continue;
    const float largest = parts[i].side.size > 0 ? mo_side_largest(parts[i].side, state[i])
                                                 : mo_largest(state[i], parts[i].count);
    if (largest <= 0.0f) continue;
    frexpf(largest, &exponent);
    exponent = unit + exponent / parts[i].degree;
    if (exponent > highest) highest = exponent;
  }
  return highest;
}

static int nearest_unit(int exponent)
{
  const int unit = STRIDE * (int)lround((double)exponent / STRIDE);
  return unit > LIMIT ? LIMIT : unit < -LIMIT ? -LIMIT : unit;
}

static void scale_part(const mo_part *part, float *data, float factor)
{
  if (part->side.size > 0)
    mo_side_scale(part->side, data, factor);
  else
    mo_scale(data, part->count, factor);
}

/* In steps of 2^32: the whole factor need not be a float. */
static void convert(int change, const mo_part *parts, size_t part_count, float *const *state)
{
  for (size_t i = 0; i < part_count; i++)
    for (int left = abs(change) * parts[i].degree; left > 0; left -= STRIDE)
      scale_part(&parts[i], state[i], ldexpf(1.0f, change > 0 ? -STRIDE : STRIDE));
}

bool mo_unit_outgrown(int unit, float largest)
{
  int exponent = 0;
  if (largest == 0.0f) return false;
  frexpf(largest, &exponent);
  return abs(exponent - unit) > COMFORT;
}

int mo_unit_change(int unit, float largest, int held, const mo_part *parts, size_t part_count,
                   float *const *state)
{
  int exponent = 0;
  frexpf(largest, &exponent);
  const int wanted = nearest_unit(exponent > held ? exponent : held);
  convert(wanted - unit, parts, part_count, state);
  return wanted;
}
