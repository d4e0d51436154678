/* blas.h - matrix products on row-major floats, by one thread, with the same bits every time.
 *
 * Threads are our business (base/parallel.h), not the BLAS's: a threaded OpenBLAS gives other
 * bits at another thread count, and its pool fights with OpenMP. Whoever calls these functions
 * from several threads does so between mo_blas_enter and mo_blas_leave. In the items of a team
 * (base/team.h) large operations are done in parts, which other threads may take (cut.h).
 */
#ifndef MOUSSE_LINALG_BLAS_H
#define MOUSSE_LINALG_BLAS_H

#include <stdbool.h>
#include <stddef.h>

/* Keeps the BLAS on one thread until the matching leave, then gives the host program back the
 * setting it had. May be nested and called from several threads. */
void mo_blas_enter(void);
void mo_blas_leave(void);

/* Around every call of BLAS or LAPACK (blas.c, lapack.c): makes them wait for each other if the
 * library cannot be called by two threads at a time. */
void mo_blas_begin(void);
void mo_blas_end(void);

/* What BLAS this is, for reports: "OpenBLAS 0.3.21 ... Zen". */
const char *mo_blas_description(void);

/* True when the BLAS can get the memory that it takes for itself on `threads` threads. OpenBLAS
 * 0.3.21 waits forever instead of failing, so this is asked before the first product, when all other
 * memory is taken. */
bool mo_blas_fits_memory(int threads);

typedef enum mo_transpose { MO_PLAIN, MO_TRANSPOSED } mo_transpose;

/* C = alpha * op(A) * op(B) + beta * C with C rows x cols and the inner dimension `inner`;
 * strides are the lengths of stored rows. With beta = 0, C is only written, never read. */
void mo_gemm(mo_transpose transpose_a, mo_transpose transpose_b, size_t rows, size_t cols,
             size_t inner, float alpha, const float *a, size_t a_stride, const float *b,
             size_t b_stride, float beta, float *c, size_t c_stride);

typedef enum mo_triangle { MO_LOWER, MO_UPPER } mo_triangle;

/* C = alpha * A * A^T + beta * C (plain, A is n x k) or alpha * A^T * A + beta * C (transposed,
 * A is k x n). Only that triangle of the n x n matrix C is read or written. */
void mo_syrk(mo_triangle triangle, mo_transpose transpose_a, size_t n, size_t k, float alpha,
             const float *a, size_t a_stride, float beta, float *c, size_t c_stride);

/* C <- C - R^T R in double, for k rows R of length n; the lower triangle of C alone. */
void mo_remove_rows(size_t n, size_t k, const double *rows, double *c);

/* C = S * X or X * S, rows x cols, for a symmetric S of which that triangle is stored. */
void mo_symm_left(mo_triangle triangle, size_t rows, size_t cols, const float *s,
                  size_t s_stride, const float *x, size_t x_stride, float *c, size_t c_stride);
void mo_symm_right(mo_triangle triangle, size_t rows, size_t cols, const float *s,
                   size_t s_stride, const float *x, size_t x_stride, float *c, size_t c_stride);

/* C = op(A) * op(B), n x n, when the result is known to be symmetric (A and B commute, or
 * B = D A^T with D symmetric): computes the lower triangle and mirrors it. */
void mo_symmetric_product(mo_transpose transpose_a, mo_transpose transpose_b, size_t n,
                          size_t inner, const float *a, size_t a_stride, const float *b,
                          size_t b_stride, float *c);

/* The lower triangle of that alone; blocks on the diagonal are whole. */
void mo_lower_product(mo_transpose transpose_a, mo_transpose transpose_b, size_t n,
                      size_t inner, const float *a, size_t a_stride, const float *b,
                      size_t b_stride, float *c, size_t c_stride);

/* y = S x for a symmetric n x n matrix S of which the lower triangle is stored. */
void mo_symv(size_t n, const float *s, size_t s_stride, const float *x, float *y);

/* y = A x + beta y or A^T x + beta y for a rows x cols matrix A. */
void mo_gemv(mo_transpose transpose_a, size_t rows, size_t cols, const float *a,
             size_t a_stride, const float *x, float beta, float *y);

/* In place, with a lower triangular L above whose diagonal nothing is read: X <- alpha L X with
 * L rows x rows; X <- X L and X <- X L^-T with L cols x cols. */
void mo_lower_times(size_t rows, size_t cols, float alpha, const float *l, size_t l_stride,
                    float *x, size_t x_stride);
void mo_times_lower(size_t rows, size_t cols, const float *l, size_t l_stride, float *x,
                    size_t x_stride);
void mo_solve_lower(size_t rows, size_t cols, const float *l, size_t l_stride, float *x,
                    size_t x_stride);

/* Copies the lower triangle of an n x n matrix onto the upper one, or the other way. */
void mo_mirror(size_t n, float *c, size_t c_stride);
void mo_mirror_upper(size_t n, float *c, size_t c_stride);

#endif
