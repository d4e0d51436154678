/* gemm_grid.h - one large matrix product as a fixed grid of output tiles.
 *
 * Each tile is a single-threaded BLAS call and an item of a parallel loop. The grid is chosen
 * from the shape alone, so the result has the same bits at any number of threads.
 *
 *     mo_product p = {...};                    // tile sizes 0: chosen by mo_product_plan
 *     mo_job job = mo_product_plan(&p);        // p must live until the loop is done
 *     mo_parallel_jobs(threads, &job, 1);      // between mo_blas_enter and mo_blas_leave
 */
#ifndef MOUSSE_LINALG_GEMM_GRID_H
#define MOUSSE_LINALG_GEMM_GRID_H

#include "base/parallel.h"
#include "linalg/blas.h"

/* C = alpha * op(A) * op(B) + beta * C, as mo_gemm. */
typedef struct mo_product {
  mo_transpose transpose_a, transpose_b;
  size_t rows, cols, inner;
  float alpha, beta;
  const float *a, *b;
  float *c;
  size_t a_stride, b_stride, c_stride;
  size_t tile_rows, tile_cols;
} mo_product;

mo_job mo_product_plan(mo_product *product);

#endif
