/* definite.h - sums of inverses of symmetric positive definite matrices.
 *
 *     A = L L^T,   W = L^-1,   A^-1 = W^T W
 *
 * The inverse itself is never formed: W^T W goes straight into the sum. All but small blocks on
 * the diagonal is matrix products, so it runs at their speed.
 */
#ifndef MOUSSE_LINALG_DEFINITE_H
#define MOUSSE_LINALG_DEFINITE_H

#include <stdbool.h>
#include <stddef.h>

/* The lower triangle of A becomes that of W; what is above the diagonal is lost. False, with
 * neither, when A is not positive definite in float, or A or W is not finite. */
bool mo_definite_invert_factor(size_t n, float *a, size_t stride);

/* The upper triangle of sum += weight * W^T W; below the diagonal, `sum` is not touched. `w` is
 * what mo_definite_invert_factor left. */
void mo_definite_add_inverse(size_t n, float weight, const float *w, size_t stride, float *sum,
                             size_t sum_stride);

/* Rows of a part where a triangle of n rows is passed over in parts, of which there are at most 32. */
size_t mo_definite_band(size_t n);

#endif
