/* rope.c - rotary position embedding alone, in place.
 *
 * The pair (x[j], x[j + D/2]) of a head is turned by an angle of its position:
 *
 *     y1 = x1 cos a + x2 sin a,   y2 = -x1 sin a + x2 cos a
 *
 * Backward is the transposed rotation. The tables decide the direction.
 */
#include "base/simd.h"
#include "gpt/layers/layers.h"

MO_CLONES(void rope_forward(float *x, const rope_heads *p))
{
  const size_t half = p->head_size / 2;
  for (size_t i = 0; i < p->rows; i++) {
    const size_t position = (p->first + i) % p->length;
    const float *c = p->cosines + position * half, *s = p->sines + position * half;
    for (size_t h = 0; h < p->heads; h++) {
      float *x1 = x + i * p->stride + h * p->head_size, *x2 = x1 + half;
#pragma omp simd
      for (size_t j = 0; j < half; j++) {
        const float y1 = x1[j] * c[j] + x2[j] * s[j];
        x2[j] = x2[j] * c[j] - x1[j] * s[j];
        x1[j] = y1;
      }
    }
  }
}

MO_CLONES(void rope_backward(float *d, const float *cosines, const float *sines, size_t rows,
                             size_t head_size, size_t stride))
{
  const size_t half = head_size / 2;
  for (size_t i = 0; i < rows; i++, d += stride) {
    const float *c = cosines + i * half, *s = sines + i * half;
    float *d1 = d, *d2 = d + half;
#pragma omp simd
    for (size_t j = 0; j < half; j++) {
      const float e1 = d1[j] * c[j] - d2[j] * s[j];
      d2[j] = d1[j] * s[j] + d2[j] * c[j];
      d1[j] = e1;
    }
  }
}
