/* newton_schulz.h - orthogonalisation by odd polynomials: all singular values go to about 1.
 *
 *     X <- X / (||X||_F + 1e-7), then for each (a, b, c):
 *     A = X X^T,  X <- (a I + b A + c A A) X       or (a I + b A + c (A + shift I)^-1) X
 *
 * On the shorter side of X, whichever it is: for a tall X the same with A = X^T X from the
 * right. Two ways to the same result:
 *   plain   the products above; A and A A are symmetric, so they cost half;
 *   Gram    NS(X) = p(X X^T) X with p a polynomial that is evaluated on the small square
 *           matrix alone, so the long side is multiplied only once, by whoever holds X.
 */
#ifndef MOUSSE_LINALG_NEWTON_SCHULZ_H
#define MOUSSE_LINALG_NEWTON_SCHULZ_H

#include <stdbool.h>
#include <stddef.h>

/* Coefficient sets, in the order of mo_newton_schulz_names (which ends in NULL). */
typedef enum mo_newton_schulz_set {
  MO_YOU5,
  MO_JORDAN5,
  MO_POLAR5,
  MO_EXACT, /* the polar factor: mo_polar */
  MO_EXACT12,
  MO_POLAR8,
  MO_NEWTON_SCHULZ_SETS
} mo_newton_schulz_set;
extern const char *const mo_newton_schulz_names[MO_NEWTON_SCHULZ_SETS + 1];

int mo_newton_schulz_iterations(mo_newton_schulz_set set);

/* What X is divided by before the iteration; epsilon is 1e-7 in the units of X. */
double mo_newton_schulz_norm(mo_newton_schulz_set set, double frobenius, double epsilon);

/* NS(x) for x (rows x cols, already divided by its norm), in x or in spare, which is as large:
 * returns where, the other one is lost. gram and factor are k x k with k the shorter side; known:
 * gram is x x^T (x^T x when tall) already, whole. Not for MO_EXACT, which is mo_polar. */
float *mo_newton_schulz(mo_newton_schulz_set set, bool known, size_t rows, size_t cols,
                        float *x, float *spare, float *gram, float *factor);

/* The four n x n arrays of the Gram way. They change places while it runs. */
typedef struct mo_gram_arrays {
  float *gram;       /* in: X X^T, symmetric, of an X already divided by its norm */
  float *polynomial; /* out: p(gram), so that NS(X) = polynomial * X */
  float *a, *b;      /* scratch */
} mo_gram_arrays;

/* With `norm`, returns ||NS(X)||_F, and of the last iteration leaves the factor's square q^2 in
 * b and the Gram matrix before it in gram: NS(X) NS(X)^T = b * gram. Otherwise returns 0. */
double mo_newton_schulz_gram(mo_newton_schulz_set set, size_t n, mo_gram_arrays *arrays,
                             bool norm);

#endif
