/* fractions.h - x^-power as a short sum of partial fractions, for matrices by Cholesky.
 *
 *     x^-power ~ constant + sum_j weight_j / (x + shift_j)     on [low, high]
 *
 * so A^-power is a sum of inverses of shifted matrices, each by a Cholesky factorization, which
 * runs near the speed of a matrix product where an eigenvalue decomposition does not.
 */
#ifndef MOUSSE_LINALG_FRACTIONS_H
#define MOUSSE_LINALG_FRACTIONS_H

enum { MO_MAX_FRACTIONS = 8 };

typedef struct mo_fractions {
  int count;
  double constant, weight[MO_MAX_FRACTIONS], shift[MO_MAX_FRACTIONS];
  double error; /* largest relative error on [low, high] */
} mo_fractions;

/* The best of a family of sums with `count` terms; 0 < low < high, 0 <= power < 1. */
mo_fractions mo_fractions_fit(double power, double low, double high, int count);

double mo_fractions_at(const mo_fractions *f, double x);

#endif
