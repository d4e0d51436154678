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

/* A matrix product would copy the weight before use; for one row that is most of the work. */
MO_CLONES void linear_vector(float *y, const float *x, const float *weight, size_t inputs,
                             size_t first, size_t last, int add)
{
  for (size_t j = first; j < last; j++) {
    const float *row = weight + j * inputs;
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < inputs; i++) sum += x[i] * row[i];
    y[j] = add ? y[j] + sum : sum;
  }
}
