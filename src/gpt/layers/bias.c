/* bias.c - y = y + b in every row; d_b = sum over rows of d_y. */
#include "base/simd.h"
#include "gpt/layers/layers.h"

#include <string.h>

MO_CLONES(void bias_forward(float *y, const float *bias, size_t rows, size_t width))
{
  if (bias == NULL) return;
  for (size_t i = 0; i < rows; i++, y += width)
    for (size_t j = 0; j < width; j++) y[j] += bias[j];
}

MO_CLONES(void bias_backward(float *d_bias, const float *d_y, size_t rows, size_t width))
{
  if (d_bias == NULL) return;
  memset(d_bias, 0, width * sizeof *d_bias);
  for (size_t i = 0; i < rows; i++, d_y += width)
    for (size_t j = 0; j < width; j++) d_bias[j] += d_y[j];
}
