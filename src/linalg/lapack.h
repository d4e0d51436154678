/* lapack.h - factorizations that cannot hang, abort or hand back garbage.
 *
 * LAPACK itself may loop forever on NaN or infinity, return success with garbage, or ask for a
 * workspace one element too short (ssyevd from n = 2895 on). So every function here checks its
 * input and its output for finiteness, computes the workspace sizes itself, takes all memory
 * from the caller, and reports failure as false, leaving it to the caller to keep what it had.
 */
#ifndef MOUSSE_LINALG_LAPACK_H
#define MOUSSE_LINALG_LAPACK_H

#include <stdbool.h>
#include <stddef.h>

/* Symmetric eigenvalue problem in double: A = Q diag(values) Q^T, values ascending. On entry
 * the lower triangle (row-major) of the n x n array `a`; on success row i of `a` is the
 * eigenvector of values[i]. `work` has mo_eigh_work_doubles(n) doubles. */
size_t mo_eigh_work_doubles(size_t n);
typedef bool (*mo_eigh_solver)(size_t n, double *a, double *values, double *work);

/* Divide and conquer: the fast one. */
bool mo_eigh_divide(size_t n, double *a, double *values, double *work);
/* Implicit QR iteration: slower, a different way through the same problem, for when the first
 * one fails. */
bool mo_eigh_iterate(size_t n, double *a, double *values, double *work);

/* Eigenvalues alone, ascending, in float. Destroys the lower triangle of `a` (n x n); `work`
 * has mo_eigenvalues_work_floats(n) floats. For reports. */
size_t mo_eigenvalues_work_floats(size_t n);
bool mo_eigenvalues(size_t n, float *a, float *values, float *work);

/* For small blocks of a matrix that definite.c has looked at as a whole: these two do not check
 * for what is not finite. L L^T = A in place of the lower triangle of A, false when A is not
 * positive definite; L <- L^-1. */
bool mo_cholesky(size_t n, float *a, size_t stride);
void mo_invert_lower(size_t n, float *l, size_t stride);

/* The polar factor U V^T of the rows x cols matrix x = U S V^T, in place, by a singular value
 * decomposition in double. Directions whose singular value is below 1e-6 of the largest have
 * no defined direction and become 0. `work` has mo_polar_work_doubles() doubles. */
size_t mo_polar_work_doubles(size_t rows, size_t cols);
bool mo_polar(size_t rows, size_t cols, float *x, double *work);

#endif
