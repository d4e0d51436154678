/* rope_tables.c - the angles of the rotary position embedding.
 *
 *     a(t, j) = t f(j),   f(j) = theta^(-2j/D)
 *
 * Scaled for contexts longer than those of the training: f / factor (linear), or (Llama 3) by
 * the wave length w = 2 pi / f, with c the context of the training:
 *
 *     w > c / low: f / factor      w < c / high: f
 *     between: s f + (1 - s) f / factor,  s = (c / w - low) / (high - low)
 */
#include "gpt/layers/layers.h"

#include <math.h>

double rope_frequency(const rope_angles *a, size_t j, size_t head_size)
{
  const double plain = pow(a->theta, -2.0 * (double)j / (double)head_size);
  if (!(a->factor > 1)) return plain;
  if (!(a->context > 0)) return plain / a->factor;
  const double turns = a->context * plain / (2 * acos(-1)); /* of the pair within the context */
  if (turns < a->low) return plain / a->factor;
  if (turns > a->high) return plain;
  const double smooth = (turns - a->low) / (a->high - a->low);
  return smooth * plain + (1 - smooth) * plain / a->factor;
}

void rope_tables(float *cosines, float *sines, size_t positions, size_t head_size,
                 const rope_angles *angles)
{
  const size_t half = head_size / 2;
  for (size_t j = 0; j < half; j++) {
    const double step = rope_frequency(angles, j, head_size);
    for (size_t t = 0; t < positions; t++) {
      const double angle = angles->direction == 0 ? 0 : (double)t * step;
      cosines[t * half + j] = (float)cos(angle);
      sines[t * half + j] = (float)(angles->direction > 0 ? -sin(angle) : sin(angle));
    }
  }
}
