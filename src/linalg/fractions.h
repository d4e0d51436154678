/* fractions.h - x^-power as a short sum of partial fractions, for matrices by Cholesky.
 *
 *     x^-power ~ constant + linear x + sum_j weight_j / (x + shift_j)     on [low, high]
 *
 * so A^-power is a sum of inverses of shifted matrices, each by a Cholesky factorization, which
 * runs near the speed of a matrix product where an eigenvalue decomposition does not. The
 * linear term costs nothing and makes the error smaller by a third.
 */
#ifndef MOUSSE_LINALG_FRACTIONS_H
#define MOUSSE_LINALG_FRACTIONS_H

enum { MO_MAX_FRACTIONS = 8 };

typedef struct mo_fractions {
  int count;
  double constant, linear, weight[MO_MAX_FRACTIONS], shift[MO_MAX_FRACTIONS];
  double error; /* largest relative error on [low, high] */
} mo_fractions;

/* The sum of `count` terms whose largest relative error is least, or nearly so; the shifts are
 * positive and ascend. 0 < low < high, 0 <= power <= 1. Above high the linear term, which is
 * negative, takes over: the sum is good to some 30% at 2 high and may be negative at 4 high. */
mo_fractions mo_fractions_fit(double power, double low, double high, int count);

double mo_fractions_at(const mo_fractions *f, double x);

#endif
