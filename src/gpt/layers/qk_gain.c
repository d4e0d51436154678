/* qk_gain.c - QK-norm with a gain, then the rotary position embedding.
 *
 *     r = 1 / sqrt(mean(x^2) + eps),  n = x r,  y = rotate(n g)
 *     d_z = rotate^T(d_y),  d_g = sum d_z n,  d_n = d_z g,  d_x = r (d_n - n mean(n d_n))
 *
 * Without a gain norm and rotation commute and rope_norm.c needs y alone; here n is kept.
 */
#include "base/simd.h"
#include "gpt/layers/layers.h"

#include <math.h>

static inline float normalise(float *normal, const float *x, size_t size, float epsilon)
{
  float squares = 0.0f;
#pragma omp simd reduction(+ : squares)
  for (size_t j = 0; j < size; j++) squares += x[j] * x[j];
  const float scale = 1.0f / sqrtf(squares / (float)size + epsilon);
#pragma omp simd
  for (size_t j = 0; j < size; j++) normal[j] = x[j] * scale;
  return scale;
}

MO_CLONES(void qk_gain_forward(float *x, float *normal, float *r, const float *q_gain,
                               const float *k_gain, size_t q_heads, const rope_heads *p,
                               float epsilon))
{
  const size_t size = p->head_size, half = size / 2;
  for (size_t i = 0; i < p->rows; i++) {
    const size_t position = (p->first + i) % p->length;
    const float *c = p->cosines + position * half, *s = p->sines + position * half;
    for (size_t h = 0; h < p->heads; h++, normal += size) {
      const float *g = h < q_heads ? q_gain : k_gain;
      float *y = x + i * p->stride + h * size;
      r[i * p->heads + h] = normalise(normal, y, size, epsilon);
#pragma omp simd
      for (size_t j = 0; j < half; j++) {
        const float z1 = normal[j] * g[j], z2 = normal[j + half] * g[j + half];
        y[j] = z1 * c[j] + z2 * s[j];
        y[j + half] = z2 * c[j] - z1 * s[j];
      }
    }
  }
}

MO_CLONES(void qk_gain_backward(float *d, float *d_gain, const float *normal,
                                size_t normal_stride, const float *r, size_t r_stride,
                                const float *gain, const float *cosines, const float *sines,
                                size_t rows, size_t head_size, size_t stride))
{
  rope_backward(d, cosines, sines, rows, head_size, stride);
  for (size_t i = 0; i < rows; i++, d += stride, normal += normal_stride, r += r_stride) {
    float dot = 0.0f;
#pragma omp simd reduction(+ : dot)
    for (size_t j = 0; j < head_size; j++) {
      d_gain[j] += d[j] * normal[j];
      d[j] *= gain[j];
      dot += d[j] * normal[j];
    }
    const float mean = dot / (float)head_size, scale = *r;
#pragma omp simd
    for (size_t j = 0; j < head_size; j++) d[j] = scale * (d[j] - normal[j] * mean);
  }
}
