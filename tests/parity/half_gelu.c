/* half_gelu.c - GPT-2's gelu as llama.cpp computes it, in the place of the library's gelu.c.
 *
 * llama.cpp looks it up in a table of all half-precision numbers: x is rounded to half precision,
 * and so is the result; below -10 it is 0 and above 10 it is x. A program that links this file
 * shows that the rounding is all that its logits differ by.
 */
#include "base/half.h"
#include "gpt/layers/layers.h"

#include <math.h>
#include <stdlib.h>

static float rounded(float x)
{
  return mo_from_float16(mo_to_float16(x));
}

void gelu_tanh_forward(float *y, const float *x, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    const float h = rounded(x[i]);
    const float u = 0.79788456f * h * (1.0f + 0.044715f * h * h);
    y[i] = x[i] <= -10.0f ? 0.0f : x[i] >= 10.0f ? x[i] : rounded(0.5f * h * (1.0f + tanhf(u)));
  }
}

/* Nothing of this program needs the others. */
void gelu_tanh_backward(float *d, const float *x, size_t count)
{
  (void)d, (void)x, (void)count;
  abort();
}

void gelu_forward(float *y, const float *x, size_t count)
{
  (void)y, (void)x, (void)count;
  abort();
}

void gelu_backward(float *d, const float *x, size_t count)
{
  (void)d, (void)x, (void)count;
  abort();
}
