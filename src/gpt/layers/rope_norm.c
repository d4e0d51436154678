/* rope_norm.c - rotary position embedding and QK-norm in one pass over q and k.
 *
 * Rotation of the pair (x[j], x[j + D/2]) by the angle a of rope_tables.c:
 *
 *     y1 = x1 cos a + x2 sin a,   y2 = -x1 sin a + x2 cos a
 *
 * then y / sqrt(mean(y^2) + eps) over the head. Backward first undoes the normalisation as in
 * rmsnorm.c, then applies the transposed rotation.
 */
#include "base/simd.h"
#include "gpt/layers/layers.h"

#include <math.h>

static inline float rotate_normalise(float *x, const float *c, const float *s, size_t half,
                                     float epsilon)
{
  float *x1 = x, *x2 = x + half;
  float squares = 0.0f;
#pragma omp simd reduction(+ : squares)
  for (size_t j = 0; j < half; j++) {
    const float y1 = x1[j] * c[j] + x2[j] * s[j];
    const float y2 = x2[j] * c[j] - x1[j] * s[j];
    x1[j] = y1;
    x2[j] = y2;
    squares += y1 * y1 + y2 * y2;
  }
  const float scale = 1.0f / sqrtf(squares / (float)(2 * half) + epsilon);
#pragma omp simd
  for (size_t j = 0; j < 2 * half; j++) x[j] *= scale;
  return scale;
}

MO_CLONES(void rope_norm_forward(float *x, float *r, const rope_heads *p, float epsilon))
{
  const size_t half = p->head_size / 2;
  for (size_t i = 0; i < p->rows; i++) {
    const size_t position = (p->first + i) % p->length;
    float *row = x + i * p->stride;
    const float *c = p->cosines + position * half, *s = p->sines + position * half;
    for (size_t h = 0; h < p->heads; h++)
      r[i * p->heads + h] = rotate_normalise(row + h * p->head_size, c, s, half, epsilon);
  }
}

MO_CLONES(void rope_norm_backward(float *d, const float *y, const float *r,
                                  const float *cosines, const float *sines, size_t rows,
                                  size_t head_size, size_t stride, size_t r_stride))
{
  const size_t half = head_size / 2;
  for (size_t i = 0; i < rows; i++, d += stride, y += stride, r += r_stride) {
    const float *c = cosines + i * half, *s = sines + i * half;
    float *d1 = d, *d2 = d + half;
    float dot = 0.0f;
#pragma omp simd reduction(+ : dot)
    for (size_t j = 0; j < head_size; j++) dot += y[j] * d[j];
    const float mean = dot / (float)head_size, scale = *r;
#pragma omp simd
    for (size_t j = 0; j < half; j++) {
      const float e1 = scale * (d1[j] - y[j] * mean);
      const float e2 = scale * (d2[j] - y[half + j] * mean);
      d1[j] = e1 * c[j] - e2 * s[j];
      d2[j] = e1 * s[j] + e2 * c[j];
    }
  }
}
