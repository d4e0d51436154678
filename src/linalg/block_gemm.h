/* block_gemm.h - matrix products of our own, for shapes and processors at which they are faster than
 * the BLAS.
 *
 * A BLAS copies both operands into its own order, writes zeros to C and then adds to them: little
 * against the work of a large product, a quarter of that of a small one. Here a strip of a few
 * rows and 16 columns of C stays in registers while the inner dimension is walked (gemm_strip.h); B is copied 16 columns at
 * a time, A is read where it lies or, stored transposed, copied in blocks, and C is written once
 * for every 256 of the inner dimension.
 *
 * Causal attention has a matrix of queries x keys in each of its products, of which row i is needed
 * up to column diagonal + i alone:
 *
 *     C = A B^T   C is that matrix; what is beyond is not written
 *     C = A B     A is, and is 0 beyond
 *     C = A^T B   likewise
 *
 * The processor and shapes choose between this and the BLAS, so results have the same bits at any
 * number of threads.
 */
#ifndef MOUSSE_LINALG_BLOCK_GEMM_H
#define MOUSSE_LINALG_BLOCK_GEMM_H

#include "linalg/blas.h"

#include <stdint.h>

#define MO_NO_DIAGONAL SIZE_MAX

/* As mo_gemm, by whoever is faster: for the products of a model's layers, which are tiles of some
 * hundred rows. `diagonal` is MO_NO_DIAGONAL or as above; the BLAS computes such a matrix whole. */
void mo_tile_gemm(mo_transpose transpose_a, mo_transpose transpose_b, size_t rows, size_t cols,
                  size_t inner, size_t diagonal, float alpha, const float *a, size_t a_stride,
                  const float *b, size_t b_stride, float beta, float *c, size_t c_stride);

/* The same without the choice, on any processor. */
void mo_block_gemm(mo_transpose transpose_a, mo_transpose transpose_b, size_t rows, size_t cols,
                   size_t inner, size_t diagonal, float alpha, const float *a, size_t a_stride,
                   const float *b, size_t b_stride, float beta, float *c, size_t c_stride);

#endif
