/* linear.c - y = x W^T for W stored as outputs x inputs; no bias.
 *
 * The weight's gradient, d_W = d_y^T x, sums over all tokens: it is one product over the whole
 * batch (linalg/gemm_grid.h), not a function of some rows, and so not here.
 */
#include "gpt/layers/layers.h"
#include "linalg/block_gemm.h"

void linear_forward(float *y, const float *x, const float *weight, size_t rows, size_t inputs,
                    size_t outputs)
{
  mo_tile_gemm(MO_PLAIN, MO_TRANSPOSED, rows, outputs, inputs, MO_NO_DIAGONAL, 1.0f, x, inputs,
               weight, inputs, 0.0f, y, outputs);
}

void linear_forward_add(float *y, const float *x, const float *weight, size_t rows,
                        size_t inputs, size_t outputs)
{
  mo_tile_gemm(MO_PLAIN, MO_TRANSPOSED, rows, outputs, inputs, MO_NO_DIAGONAL, 1.0f, x, inputs,
               weight, inputs, 1.0f, y, outputs);
}

void linear_backward(float *d_x, const float *d_y, const float *weight, size_t rows,
                     size_t inputs, size_t outputs)
{
  mo_tile_gemm(MO_PLAIN, MO_PLAIN, rows, inputs, outputs, MO_NO_DIAGONAL, 1.0f, d_y, outputs,
               weight, inputs, 0.0f, d_x, inputs);
}
