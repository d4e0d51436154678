/* triangular.h - what BLAS and LAPACK do with a lower triangular matrix L, in place.
 *
 * Row-major, by one thread. Above the diagonal L's array is not looked at. Numbers that are not
 * finite are the caller's business.
 */
#ifndef MOUSSE_LINALG_TRIANGULAR_H
#define MOUSSE_LINALG_TRIANGULAR_H

#include <stdbool.h>
#include <stddef.h>

/* X <- alpha L X with L rows x rows; X <- X L and X <- X L^-T with L cols x cols. */
void mo_lower_times(size_t rows, size_t cols, float alpha, const float *l, size_t l_stride,
                    float *x, size_t x_stride);
void mo_times_lower(size_t rows, size_t cols, const float *l, size_t l_stride, float *x,
                    size_t x_stride);
void mo_solve_lower(size_t rows, size_t cols, const float *l, size_t l_stride, float *x,
                    size_t x_stride);

/* L L^T = A in place of the lower triangle of A; false when A is not positive definite. */
bool mo_cholesky(size_t n, float *a, size_t stride);

/* L <- L^-1 */
void mo_invert_lower(size_t n, float *l, size_t stride);

#endif
