/* layernorm.c - normalisation by mean and variance; gain and bias are gain.c's.
 *
 *     r = 1 / sqrt(mean((x - mean(x))^2) + eps),  y = (x - mean(x)) r
 *     d_x = r (d_y - mean(d_y) - y mean(y d_y))
 */
#include "base/simd.h"
#include "gpt/layers/layers.h"

#include <math.h>

MO_CLONES(void layernorm_forward(float *y, float *r, const float *x, size_t rows, size_t width,
                                 float epsilon))
{
  for (size_t i = 0; i < rows; i++, x += width, y += width) {
    float sum = 0.0f, squares = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < width; j++) sum += x[j];
    const float mean = sum / (float)width;
#pragma omp simd reduction(+ : squares)
    for (size_t j = 0; j < width; j++) squares += (x[j] - mean) * (x[j] - mean);
    const float scale = 1.0f / sqrtf(squares / (float)width + epsilon);
#pragma omp simd
    for (size_t j = 0; j < width; j++) y[j] = (x[j] - mean) * scale;
    r[i] = scale;
  }
}

MO_CLONES(void layernorm_backward(float *d_x, const float *add, const float *d_y,
                                  const float *y, const float *r, size_t rows, size_t width))
{
  for (size_t i = 0; i < rows; i++, d_x += width, add += width, d_y += width, y += width) {
    float sum = 0.0f, dot = 0.0f;
#pragma omp simd reduction(+ : sum, dot)
    for (size_t j = 0; j < width; j++) {
      sum += d_y[j];
      dot += y[j] * d_y[j];
    }
    const float mean = sum / (float)width, slope = dot / (float)width, scale = r[i];
#pragma omp simd
    for (size_t j = 0; j < width; j++) d_x[j] = add[j] + scale * (d_y[j] - mean - y[j] * slope);
  }
}
