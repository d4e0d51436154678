/* swiglu.c - y = silu(g) u for rows [g | u], silu(g) = g s, s = 1 / (1 + exp(-g)).
 *
 *     d_u = d_y g s,   d_g = d_y u (s + g s (1 - s))
 */
#include "base/simd.h"
#include "gpt/layers/exp.h"
#include "gpt/layers/layers.h"

MO_CLONES(void swiglu_forward(float *y, const float *x, size_t rows, size_t width))
{
  for (size_t i = 0; i < rows; i++, y += width, x += 2 * width) {
    const float *g = x, *u = x + width;
#pragma omp simd
    for (size_t j = 0; j < width; j++) y[j] = g[j] * (1.0f / (1.0f + fast_exp(-g[j]))) * u[j];
  }
}

/* y once more on the way: the exponential function is most of the work. */
MO_CLONES(void swiglu_backward(float *d, float *y, const float *d_y, const float *x,
                               size_t rows, size_t width))
{
  for (size_t i = 0; i < rows; i++, d += 2 * width, y += width, d_y += width, x += 2 * width) {
    const float *g = x, *u = x + width;
    float *d_g = d, *d_u = d + width;
#pragma omp simd
    for (size_t j = 0; j < width; j++) {
      const float s = 1.0f / (1.0f + fast_exp(-g[j])), silu = g[j] * s;
      y[j] = silu * u[j];
      d_u[j] = d_y[j] * silu;
      d_g[j] = d_y[j] * u[j] * (s + silu * (1.0f - s));
    }
  }
}
