/* small_gemm.h - mo_gemm for products with a small right-hand side, such as a model of width 128 and
 * the heads of any model are made of.
 *
 * A BLAS copies both operands into its own order, writes zeros to C and then adds to them: little
 * against the work of a large product, a quarter of that of a small one. Here a block of 6 x 16 of
 * C stays in registers while the inner dimension is walked; B is copied 16 columns at a time, A is
 * read where it lies, and C is written once.
 *
 * Causal attention has a matrix of queries x keys in each of its products, of which row i is needed
 * up to column diagonal + i alone:
 *
 *     C = A B^T   C is that matrix; what is beyond is not written
 *     C = A B     A is, and is 0 beyond
 *     C = A^T B   likewise
 *
 * Shapes alone choose between this and the BLAS, which computes such a matrix whole, so results
 * have the same bits at any number of threads. On processors without AVX2, or with AVX-512, whose
 * BLAS is as fast again, and in builds without multi-versioned functions (base/simd.h), everything
 * goes to the BLAS.
 */
#ifndef MOUSSE_LINALG_SMALL_GEMM_H
#define MOUSSE_LINALG_SMALL_GEMM_H

#include "linalg/blas.h"

#include <stdint.h>

#define MO_NO_DIAGONAL SIZE_MAX

/* As mo_gemm, by whoever is faster. */
void mo_small_gemm(mo_transpose transpose_a, mo_transpose transpose_b, size_t rows, size_t cols,
                   size_t inner, size_t diagonal, float alpha, const float *a, size_t a_stride,
                   const float *b, size_t b_stride, float beta, float *c, size_t c_stride);

/* The same without the choice, on any processor: for tests. */
void mo_block_gemm(mo_transpose transpose_a, mo_transpose transpose_b, size_t rows, size_t cols,
                   size_t inner, size_t diagonal, float alpha, const float *a, size_t a_stride,
                   const float *b, size_t b_stride, float beta, float *c, size_t c_stride);

#endif
