/* cross_entropy.c - loss = log(sum exp(l)) - l[target], d_l = softmax(l) - [j = target]. */
#include "base/simd.h"
#include "gpt/layers/exp.h"
#include "gpt/layers/layers.h"

#include <math.h>

static inline float largest(const float *x, size_t count)
{
  float top = x[0];
#pragma omp simd reduction(max : top)
  for (size_t j = 0; j < count; j++) top = x[j] > top ? x[j] : top;
  return top;
}

MO_CLONES(float cross_entropy_loss(const float *logits, size_t vocabulary, size_t target))
{
  const float top = largest(logits, vocabulary);
  float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
  for (size_t j = 0; j < vocabulary; j++) sum += fast_exp(logits[j] - top);
  /* cppcheck-suppress invalidFunctionArg - the largest logit alone adds 1 to sum */
  return logf(sum) + top - logits[target];
}

MO_CLONES(float cross_entropy_gradient(float *logits, size_t vocabulary, size_t target,
                                       float factor))
{
  const float top = largest(logits, vocabulary), chosen = logits[target];
  float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
  for (size_t j = 0; j < vocabulary; j++) {
    const float e = fast_exp(logits[j] - top);
    logits[j] = e;
    sum += e;
  }
  const float scale = factor / sum;
#pragma omp simd
  for (size_t j = 0; j < vocabulary; j++) logits[j] *= scale;
  logits[target] -= factor;
  /* cppcheck-suppress invalidFunctionArg - the largest logit alone adds 1 to sum */
  return logf(sum) + top - chosen;
}
