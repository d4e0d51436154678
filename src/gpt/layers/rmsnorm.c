/* rmsnorm.c - root-mean-square normalisation without gain.
 *
 *     r = 1 / sqrt(mean(x^2) + eps),  y = x r
 *     d_x = r (d_y - y mean(y d_y))
 *
 * Backward needs y and r only, so the residual stream x itself is never kept.
 */
#include "base/simd.h"
#include "gpt/layers/layers.h"

#include <math.h>

MO_CLONES(void rmsnorm_forward(float *y, float *r, const float *x, size_t rows, size_t width,
                               float epsilon))
{
  for (size_t i = 0; i < rows; i++, x += width, y += width) {
    float squares = 0.0f;
#pragma omp simd reduction(+ : squares)
    for (size_t j = 0; j < width; j++) squares += x[j] * x[j];
    const float scale = 1.0f / sqrtf(squares / (float)width + epsilon);
#pragma omp simd
    for (size_t j = 0; j < width; j++) y[j] = x[j] * scale;
    r[i] = scale;
  }
}

MO_CLONES(void rmsnorm_backward(float *d_x, const float *add, const float *d_y, const float *y,
                                const float *r, size_t rows, size_t width))
{
  for (size_t i = 0; i < rows; i++, d_x += width, add += width, d_y += width, y += width) {
    float dot = 0.0f;
#pragma omp simd reduction(+ : dot)
    for (size_t j = 0; j < width; j++) dot += y[j] * d_y[j];
    const float mean = dot / (float)width, scale = r[i];
#pragma omp simd
    for (size_t j = 0; j < width; j++) d_x[j] = add[j] + scale * (d_y[j] - y[j] * mean);
  }
}
