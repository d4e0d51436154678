/* lanczos.h - the spectrum of a symmetric matrix in outline, from a few products with a vector.
 *
 * Lanczos' iteration from a vector of signs v turns A into a small tridiagonal matrix T. The
 * eigenvalues of T, weighted by the squares of their eigenvectors' first elements, stand for
 * the density of A's eigenvalues as v sees it (Gauss quadrature); the outermost come close to
 * A's own from inside. MO_LANCZOS_STEPS products instead of some n^3 operations.
 */
#ifndef MOUSSE_LINALG_LANCZOS_H
#define MOUSSE_LINALG_LANCZOS_H

#include <stdbool.h>
#include <stddef.h>

enum { MO_LANCZOS_STEPS = 16 };

typedef struct mo_outline {
  double lowest, highest;
  double q10, q50, q90;  /* quantiles */
  double effective_rank; /* (sum of eigenvalues)^2 / sum of their squares */
  double rms;            /* of the matrix's entries */
} mo_outline;

/* y = A x, both of n elements. */
typedef void (*mo_product_with)(const void *matrix, const float *x, float *y);

/* work: 3 n floats. False: A is 0 or not finite. The same bits each time. */
bool mo_lanczos(size_t n, mo_product_with multiply, const void *matrix, float *work,
                mo_outline *outline);

#endif
