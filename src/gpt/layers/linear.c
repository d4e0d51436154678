/* linear.c - y = x W^T for W stored as outputs x inputs; no bias.
 *
 * The weight's gradient, d_W = d_y^T x, sums over all tokens: it is one product over the whole
 * batch (linalg/gemm_grid.h), not a function of some rows, and so not here.
 */
#include "base/simd.h"
#include "gpt/layers/layers.h"
#include "linalg/blas.h"

void linear_forward(float *y, const float *x, const float *weight, size_t rows, size_t inputs,
                    size_t outputs)
{
  mo_gemm(MO_PLAIN, MO_TRANSPOSED, rows, outputs, inputs, 1.0f, x, inputs, weight, inputs, 0.0f,
          y, outputs);
}

void linear_forward_add(float *y, const float *x, const float *weight, size_t rows,
                        size_t inputs, size_t outputs)
{
  mo_gemm(MO_PLAIN, MO_TRANSPOSED, rows, outputs, inputs, 1.0f, x, inputs, weight, inputs, 1.0f,
          y, outputs);
}

void linear_backward(float *d_x, const float *d_y, const float *weight, size_t rows,
                     size_t inputs, size_t outputs)
{
  mo_gemm(MO_PLAIN, MO_PLAIN, rows, inputs, outputs, 1.0f, d_y, outputs, weight, inputs, 0.0f,
          d_x, inputs);
}

static inline float keep_or_add(float before, float sum, int add)
{
  return add ? before + sum : sum;
}

/* A matrix product would copy the weight before use; for one row that is most of the work. Four
 * rows of the weight at once: one sum alone would wait for its own additions, not for memory. */
MO_CLONES void linear_vector(float *y, const float *x, const float *weight, size_t inputs,
                             size_t first, size_t last, int add)
{
  size_t j = first;
  for (; j + 4 <= last; j += 4) {
    const float *a = weight + j * inputs, *b = a + inputs, *c = b + inputs, *d = c + inputs;
    float sa = 0.0f, sb = 0.0f, sc = 0.0f, sd = 0.0f;
#pragma omp simd reduction(+ : sa, sb, sc, sd)
    for (size_t i = 0; i < inputs; i++) {
      sa += x[i] * a[i];
      sb += x[i] * b[i];
      sc += x[i] * c[i];
      sd += x[i] * d[i];
    }
    y[j] = keep_or_add(y[j], sa, add);
    y[j + 1] = keep_or_add(y[j + 1], sb, add);
    y[j + 2] = keep_or_add(y[j + 2], sc, add);
    y[j + 3] = keep_or_add(y[j + 3], sd, add);
  }
  for (; j < last; j++) {
    const float *row = weight + j * inputs;
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < inputs; i++) sum += x[i] * row[i];
    y[j] = keep_or_add(y[j], sum, add);
  }
}
