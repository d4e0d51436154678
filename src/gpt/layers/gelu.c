/* gelu.c - the Gaussian error linear unit, exactly and as GPT-2 approximates it.
 *
 *     exact:  y = x P(x),  P(x) = (1 + erf(x / sqrt 2)) / 2,  y' = P + x exp(-x^2/2) / sqrt(2 pi)
 *     tanh:   y = x (1 + tanh u) / 2 = x s,  u = sqrt(2/pi) (x + 0.044715 x^3),
 *             s = 1 / (1 + exp(-2u)),  y' = s + x s (1 - s) 2 u'
 */
#include "base/simd.h"
#include "gpt/layers/exp.h"
#include "gpt/layers/layers.h"

#include <math.h>

static const float half_root = 0.70710678f, root_2_over_pi = 0.79788456f, cubic = 0.044715f;

void gelu_forward(float *y, const float *x, size_t count)
{
  for (size_t i = 0; i < count; i++) y[i] = 0.5f * x[i] * erfcf(-x[i] * half_root);
}

void gelu_backward(float *d, const float *x, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    const float bell = 0.39894228f; /* 1 / sqrt(2 pi) */
    const float chance = 0.5f * erfcf(-x[i] * half_root);
    d[i] *= chance + x[i] * bell * fast_exp(-0.5f * x[i] * x[i]);
  }
}

static inline float sigmoid(float x)
{
  return 1.0f / (1.0f + fast_exp(-x));
}

MO_CLONES(void gelu_tanh_forward(float *y, const float *x, size_t count))
{
#pragma omp simd
  for (size_t i = 0; i < count; i++) {
    const float u = root_2_over_pi * (x[i] + cubic * x[i] * x[i] * x[i]);
    y[i] = x[i] * sigmoid(2 * u);
  }
}

MO_CLONES(void gelu_tanh_backward(float *d, const float *x, size_t count))
{
#pragma omp simd
  for (size_t i = 0; i < count; i++) {
    const float u = root_2_over_pi * (x[i] + cubic * x[i] * x[i] * x[i]);
    const float slope = root_2_over_pi * (1 + 3 * cubic * x[i] * x[i]), s = sigmoid(2 * u);
    d[i] *= s + x[i] * s * (1 - s) * 2 * slope;
  }
}
