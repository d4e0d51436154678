/* gain.c - y = x g + b, element by element in every row: what follows a norm.
 *
 *     d_x = d_y g,  d_g = sum over rows of d_y x,  d_b = sum over rows of d_y
 */
#include "base/simd.h"
#include "gpt/layers/layers.h"

#include <string.h>

MO_CLONES(void gain_forward(float *y, const float *x, const float *gain, const float *bias,
                            size_t rows, size_t width))
{
  for (size_t i = 0; i < rows; i++, x += width, y += width) {
    if (bias != NULL)
      for (size_t j = 0; j < width; j++) y[j] = x[j] * gain[j] + bias[j];
    else
      for (size_t j = 0; j < width; j++) y[j] = x[j] * gain[j];
  }
}

MO_CLONES(void gain_backward(float *d_x, float *d_gain, float *d_bias, const float *d_y,
                             const float *x, const float *gain, size_t rows, size_t width))
{
  bias_backward(d_bias, d_y, rows, width);
  memset(d_gain, 0, width * sizeof *d_gain);
  for (size_t i = 0; i < rows; i++, x += width, d_y += width, d_x += width)
    for (size_t j = 0; j < width; j++) {
      d_gain[j] += d_y[j] * x[j];
      d_x[j] = d_y[j] * gain[j];
    }
}
