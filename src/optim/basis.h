/* basis.h - eigenvectors of a side's statistics that are kept and moved along.
 *
 * A basis B is stored with eigenvectors as rows: coordinates of x are B x (left), x B^T (right).
 */
#ifndef MOUSSE_OPTIM_BASIS_H
#define MOUSSE_OPTIM_BASIS_H

#include "linalg/lapack.h"
#include "optim/algorithm.h"

/* The eigenvalues (ascending) and eigenvectors (rows of `matrix`) of factor * statistics +
 * shift I for one n x n block, by the first solver of the ladder that succeeds; false, and
 * counted as a fall-back, when none does. ladder NULL: mo_eigh_ladder. */
extern const mo_eigh_solver mo_eigh_ladder[];
size_t mo_decompose_work_floats(size_t n); /* matrix, values and work together, as doubles */
bool mo_decompose(size_t n, const float *pair, double factor, double shift,
                  const mo_eigh_solver *ladder, double *matrix, double *values, double *work,
                  mo_counts *counts);

/* The basis by falling eigenvalue, and the same from any solver where eigenvalues leave a choice:
 * those of at most 1e-5 of the largest span a space in which every basis is as good as another;
 * there it is that of linalg/complement.h. False when every solver of the ladder failed: it stays.
 * Work as mo_decompose_work_floats. */
bool mo_basis_find(size_t n, const float *pair, const mo_eigh_solver *ladder, float *basis,
                   float *work, mo_counts *counts);

/* Whether a basis (not yet there: no) is near enough to stay where it is, for D = diag(B A B^T):
 *
 *     ||A - B^T D B|| <= tolerance ||A||       (the norm of what is off the diagonal of B A B^T)
 *
 * Tolerance 0: never. values = D, unless that is so; work has n * n floats. */
bool mo_basis_near(size_t n, const float *pair, double tolerance, const float *basis,
                   float *values, float *work);

/* order[i] = the place of the vector with the i-th largest estimate of an eigenvalue; work has n * n + n
 * floats. */
void mo_basis_order(size_t n, const float *pair, const float *basis, size_t *order,
                    float *work);

/* The same, but estimates of at most 1e-5 of the largest, whose order would be that of rounding, count as
 * equal: then the first place comes first. */
void mo_basis_places(size_t n, const float *pair, const float *basis, size_t *order,
                     float *work);

/* Moves a basis that is not near enough by one power iteration with the statistics A and QR,
 * sorted by falling estimates of the eigenvalues: order[i] is the old place of row i. order
 * NULL: they are not sorted. To see that it may stay costs one product of the two and the QR
 * that a move needs besides. A failed factorization leaves it, too. */
typedef enum mo_basis_result { MO_BASIS_MOVED, MO_BASIS_KEPT, MO_BASIS_FAILED } mo_basis_result;
size_t mo_basis_work_floats(size_t n); /* for mo_basis_move, without order */
mo_basis_result mo_basis_move(size_t n, const float *pair, double tolerance, float *basis,
                              size_t *order, float *work);

size_t mo_order_floats(size_t n); /* floats that hold n places */

#endif
