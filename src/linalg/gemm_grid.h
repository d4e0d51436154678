/* gemm_grid.h - one large matrix product as a fixed grid of output tiles.
 *
 * Each tile is a single-threaded product and an item of a parallel loop. The grid is chosen
 * from the shape alone, so the result has the same bits at any number of threads.
 *
 *     mo_product p = mo_dense_product(...);
 *     mo_task job = mo_product_plan(&p);        // p must live until the loop is done
 *     mo_parallel_tasks(threads, &job, 1);      // between mo_blas_enter and mo_blas_leave
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
  double
      longest;  /* operations of a tile at most, where the smallest tiles allow it; 0: 3.7e9 */
  bool by_blas; /* even where our own kernel is faster (block_gemm.h) */
} mo_product;

/* C = op(A) * op(B) + beta * C with all three stored without gaps. */
mo_product mo_dense_product(mo_transpose transpose_a, mo_transpose transpose_b, size_t rows,
                            size_t cols, size_t inner, const float *a, const float *b,
                            float beta, float *c);

/* Chooses the tiles, unless their sizes are given, and returns them as a job. */
mo_task mo_product_plan(mo_product *product);

/* Cuts the end off a product of many large tiles and returns it, with tiles a quarter as large: for
 * the threads that find no large one left while others still work on theirs. Of other products
 * the end is empty. Plan both, the end behind the rest. */
mo_product mo_product_cut_end(mo_product *product);

#endif
