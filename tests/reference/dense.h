/* dense.h - small dense matrices in double, row-major, by plain loops.
 *
 * The references are trusted because they are simple: no BLAS, no LAPACK, no blocking, and
 * nothing of the library. Sizes up to a few hundred are meant.
 */
#ifndef MOUSSE_TESTS_REFERENCE_DENSE_H
#define MOUSSE_TESTS_REFERENCE_DENSE_H

#include <stddef.h>

double *ref_zeros(size_t count);                      /* owned by the caller: free() */
double *ref_copy(const double *values, size_t count); /* owned by the caller: free() */
double ref_norm(const double *values, size_t count);  /* Frobenius */
void ref_scale(double *values, size_t count, double by);

/* out (m x n) = a (m x k) * b (k x n); out is none of the inputs. */
void ref_multiply(size_t m, size_t k, size_t n, const double *a, const double *b, double *out);
void ref_transpose(size_t m, size_t n, const double *a, double *out); /* out is n x m */

/* s <- beta*s + (1-beta) * g*g^T (m x m), and the same with g^T*g (n x n); g is m x n. */
void ref_average_left(size_t m, size_t n, const double *g, double beta, double *s);
void ref_average_right(size_t m, size_t n, const double *g, double beta, double *s);

/* Symmetric a = V diag(values) V^T by cyclic Jacobi; values ascend, vectors are columns. */
void ref_eigh(size_t n, const double *a, double *values, double *vectors);

/* a = Q R by Householder reflections; q is n x n and orthogonal even where a is singular. */
void ref_qr(size_t n, const double *a, double *q);

/* The polar factor U V^T of a (m x n) by one-sided Jacobi. Directions whose singular value is
 * at most `relative` times the largest are left out; a zero matrix gives zero. */
void ref_polar(size_t m, size_t n, const double *a, double relative, double *out);

#endif
