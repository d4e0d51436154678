/* lora.c - an adapter of low rank beside a frozen matrix W (outputs x inputs):
 *
 *     y = x (W + s B A)^T = x W^T + low B^T,   low = s x A^T
 *
 * A is rank x inputs, B outputs x rank, and low, rank numbers a row, is kept. Backward:
 *
 *     d_low = s d_y B,   d_x += d_low A,   d_A = d_low^T x,   d_B = d_y^T low
 *
 * The last two are sums over all tokens: products over the whole batch, as those of linear.c.
 */
#include "gpt/layers/layers.h"
#include "linalg/blas.h"

void lora_forward(float *y, size_t y_stride, float *low, const float *x, const lora_weights *w,
                  size_t rows)
{
  mo_gemm(MO_PLAIN, MO_TRANSPOSED, rows, w->rank, w->inputs, w->scale, x, w->inputs, w->a,
          w->inputs, 0.0f, low, w->rank);
  mo_gemm(MO_PLAIN, MO_TRANSPOSED, rows, w->outputs, w->rank, 1.0f, low, w->rank, w->b, w->rank,
          1.0f, y, y_stride);
}

void lora_backward_low(float *d_low, const float *d_y, size_t d_y_stride, const lora_weights *w,
                       size_t rows)
{
  mo_gemm(MO_PLAIN, MO_PLAIN, rows, w->rank, w->outputs, w->scale, d_y, d_y_stride, w->b,
          w->rank, 0.0f, d_low, w->rank);
}

void lora_backward(float *d_x, const float *d_low, const lora_weights *w, size_t rows)
{
  mo_gemm(MO_PLAIN, MO_PLAIN, rows, w->inputs, w->rank, 1.0f, d_low, w->rank, w->a, w->inputs,
          1.0f, d_x, w->inputs);
}

void lora_merge(float *weight, const lora_weights *w)
{
  mo_gemm(MO_PLAIN, MO_PLAIN, w->outputs, w->inputs, w->rank, w->scale, w->b, w->rank, w->a,
          w->inputs, 1.0f, weight, w->inputs);
}
