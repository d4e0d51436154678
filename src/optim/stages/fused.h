/* fused.h - whiten, orthogonalise and unwhiten in one, with the long side multiplied once.
 *
 *     plain   X = P_L X0 P_R      N = NS(X)      U = P_L N P_R
 *     fused   with K = P^2 on the long side and P on the short one (written for a wide X0)
 *                 Y = X0 K,  A = P Y X0^T P / ||X||^2,  U = (P p(A) P) Y / ||X||
 *
 * The same numbers, and the iteration runs on the short side alone. Without roots it is Gram
 * Newton-Schulz: NS(X0) = p(X0 X0^T / ||X0||^2) X0 / ||X0||. With them it needs `outer`, and
 * nothing between orthogonaliser and outer factor. An X0 in an eigenbasis leaves it on the way,
 * U = (Q_L p(A)) (X0 Q_R^T): one product of the short side less than leaving it before.
 */
#ifndef MOUSSE_OPTIM_STAGES_FUSED_H
#define MOUSSE_OPTIM_STAGES_FUSED_H

#include "optim/eigenbasis.h"
#include "optim/stages/options.h"

typedef struct mo_fused {
  mo_shape shape;
  mo_newton_schulz_set set;
  bool schatten4;
  mo_side left, right; /* size 0: absent */
  const float *left_pair, *right_pair;
  const mo_eigenbasis *basis; /* x0 is in it, and u is to be out of it; NULL: none */
} mo_fused;

/* Operations of both forms, and whether fused is the cheaper one for matrices of some size. */
double mo_plain_flops(const mo_fused *f, bool outer);
double mo_fused_flops(const mo_fused *f);
bool mo_fused_pays(const mo_fused *f);

/* u = the update for x0; epsilon is Newton-Schulz's 1e-7 in the units of x0; y is scratch as
 * large as x0. Returns the norm of N, or a negative number, with u undefined, when rounding was
 * too much for this form. An x0 of zeros gives zeros. Notes ns_residual. */
size_t mo_fused_work_floats(const mo_fused *f);
double mo_fused_update(const mo_fused *f, const float *x0, double epsilon, float *u, float *y,
                       float *work, mo_telemetry *telemetry);

/* What an observer is told: ||M - I||_F / sqrt(n) for the n x n matrix M = N N^T. */
void mo_note_residual(mo_telemetry *telemetry, size_t n, const float *m);

#endif
