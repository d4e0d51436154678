/* complement.h - completes orthonormal rows to a basis, in one way whatever the rows were.
 *
 * P projects on what the known rows leave. The first axis j with P_jj >= max / 2 gives the vector
 * P_j / sqrt(P_jj), which is removed from P; and so on. Only the space that the known rows span
 * matters, not which rows span it: two solvers that agree on the space agree on the rest, to
 * rounding, and half of the largest is far from a tie that rounding could decide.
 */
#ifndef MOUSSE_LINALG_COMPLEMENT_H
#define MOUSSE_LINALG_COMPLEMENT_H

#include <stddef.h>

/* The last `known` rows of the n x n matrix are orthonormal; those before are found, from the
 * last to the first. `work` has mo_complement_work_doubles(n) doubles. */
size_t mo_complement_work_doubles(size_t n);
void mo_complement_rows(size_t n, size_t known, double *rows, double *work);

#endif
