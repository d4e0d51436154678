/* cut.h - large operations of the BLAS as parts of fixed shape, for the items of a team.
 *
 * Few large matrices are to keep many threads busy (base/team.h). An operation inside an item is
 * done in parts when it is worth it, by its shape alone: the same bits for any number of threads.
 * A smaller one is not: parts pack their operands anew, which costs 2 to 5 per cent with these
 * sizes and more with smaller ones.
 *
 * blas.c asks these functions first. Arguments are those of its functions; false: nothing was
 * done, it is for one call.
 */
#ifndef MOUSSE_LINALG_CUT_H
#define MOUSSE_LINALG_CUT_H

#include "linalg/blas.h"

bool mo_cut_gemm(mo_transpose transpose_a, mo_transpose transpose_b, size_t rows, size_t cols,
                 size_t inner, float alpha, const float *a, size_t a_stride, const float *b,
                 size_t b_stride, float beta, float *c, size_t c_stride);
bool mo_cut_syrk(mo_triangle triangle, mo_transpose transpose_a, size_t n, size_t k,
                 float alpha, const float *a, size_t a_stride, float beta, float *c,
                 size_t c_stride);
/* The lower triangle of a symmetric product; whole blocks on the diagonal. */
bool mo_cut_lower_product(mo_transpose transpose_a, mo_transpose transpose_b, size_t n,
                          size_t inner, const float *a, size_t a_stride, const float *b,
                          size_t b_stride, float *c, size_t c_stride);
bool mo_cut_symm(bool left, mo_triangle triangle, size_t rows, size_t cols, const float *s,
                 size_t s_stride, const float *x, size_t x_stride, float *c, size_t c_stride);
bool mo_cut_lower_times(size_t rows, size_t cols, float alpha, const float *l, size_t l_stride,
                        float *x, size_t x_stride);
bool mo_cut_times_lower(size_t rows, size_t cols, const float *l, size_t l_stride, float *x,
                        size_t x_stride);
bool mo_cut_solve_lower(size_t rows, size_t cols, const float *l, size_t l_stride, float *x,
                        size_t x_stride);

/* y = S x as mo_symv, in bands of rows whatever the size; `work` has mo_symv_work_floats(n). */
size_t mo_symv_work_floats(size_t n);
void mo_symv_in_bands(size_t n, const float *s, size_t s_stride, const float *x, float *y,
                      float *work);

#endif
