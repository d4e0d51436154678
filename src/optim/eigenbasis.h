/* eigenbasis.h - the eigenvectors of both sides' statistics, as a space to work in.
 *
 *     L <- beta L + (1 - beta) G G^T, R likewise;    Q_L, Q_R their eigenvectors
 *     into the basis: Q_L^T x Q_R                    out of it: Q_L x Q_R^T
 *
 * Q is found by eigh, or moved by one power iteration and QR (basis.h). A side of size 0 has
 * Q = I.
 */
#ifndef MOUSSE_OPTIM_EIGENBASIS_H
#define MOUSSE_OPTIM_EIGENBASIS_H

#include "linalg/blas.h"
#include "optim/basis.h"

typedef struct mo_eigenbasis {
  mo_shape shape;
  mo_side left, right;
  float *left_pair, *right_pair, *left_basis, *right_basis;
} mo_eigenbasis;

/* Its four arrays, and the basis in them. */
enum { MO_EIGENBASIS_ARRAYS = 4 };
void mo_eigenbasis_layout(mo_side left, mo_side right, mo_state_array *arrays);
mo_eigenbasis mo_eigenbasis_in(mo_shape shape, mo_side left, mo_side right,
                               float *const *arrays);

/* MO_PLAIN: into the basis, MO_TRANSPOSED: out of it. Returns where the result is: y, or half where
 * y is x and only one side has a basis. The other one is scratch. */
float *mo_eigenbasis_rotate(const mo_eigenbasis *b, mo_transpose into, const float *x,
                            float *half, float *y);

/* One side alone, which has a basis; y is not x. */
void mo_eigenbasis_rotate_left(const mo_eigenbasis *b, mo_transpose into, const float *x,
                               float *y);
void mo_eigenbasis_rotate_right(const mo_eigenbasis *b, mo_transpose into, const float *x,
                                float *y);

void mo_eigenbasis_average(const mo_eigenbasis *b, const float *grad, double beta,
                           uint64_t step);

size_t mo_eigenbasis_work_floats(mo_side left, mo_side right);

/* How a basis is renewed: found by eigh; replaced, which is found where there was one; placed,
 * which is found without sorting: the vector of the i-th largest eigenvalue is where the old one
 * was; moved, with sorting; or turned, which is moved without. */
typedef enum mo_renewal {
  MO_BASIS_FIND,
  MO_BASIS_REPLACE,
  MO_BASIS_PLACE,
  MO_BASIS_MOVE,
  MO_BASIS_TURN
} mo_renewal;

/* Renews both sides, unless they are near enough, and counts those that were not. Where a basis is
 * replaced or moved, rows and columns of `follows` (as large as the matrix; NULL: nothing) are put
 * into the order of falling estimates in the old basis, with `copy` as scratch. On failure the old
 * basis stays, counted. */
void mo_eigenbasis_renew(const mo_eigenbasis *b, mo_renewal left, mo_renewal right,
                         double tolerance, float *follows, float *copy, float *work,
                         mo_counts *counts);

#endif
