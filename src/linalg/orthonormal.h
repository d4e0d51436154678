/* orthonormal.h - an orthonormal basis from the rows of a matrix, in their order. */
#ifndef MOUSSE_LINALG_ORTHONORMAL_H
#define MOUSSE_LINALG_ORTHONORMAL_H

#include <stdbool.h>
#include <stddef.h>

/* Replaces the rows of an n x n matrix by an orthonormal basis built from them in order (the
 * transposed Q factor of its transpose; the sign of a row is free). Rows that depend on earlier
 * ones, or are 0, are replaced by some unit vector orthogonal to the others. False, and the
 * matrix is lost, when something in it is not finite. `work` has mo_orthonormal_work_floats(n)
 * floats. */
size_t mo_orthonormal_work_floats(size_t n);
bool mo_orthonormal_rows(size_t n, float *a, float *work);

#endif
