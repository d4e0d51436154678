/* averages.h - moving averages, exact for every beta and every size of element.
 *
 *     mean <- beta mean + (1 - beta) x            root <- sqrt(beta root^2 + (1 - beta) x^2)
 *
 * A second moment is kept as its root: it then has the range of the gradient itself, so that one
 * element of 1e30 needs no scale that would turn the squares of its neighbours into 0. And beta
 * is not rounded to float: 1 - beta would be off by 6.7e-6 at 0.999 and by 5% at 0.999999.
 */
#ifndef MOUSSE_OPTIM_AVERAGES_H
#define MOUSSE_OPTIM_AVERAGES_H

#include <stddef.h>
#include <stdint.h>

void mo_average(float *mean, const float *x, size_t count, double beta);
void mo_average_root(float *root, const float *x, size_t count, double beta);

/* beta = high + low: a float loop that adds what rounding beta to float leaves out. */
typedef struct mo_split {
  float high, low, add; /* add: 1 - beta */
} mo_split;
mo_split mo_split_beta(double beta);

/* One of the two floats next to beta, such that their product over the first `step` steps is
 * beta^step within the rounding of one: for products of matrices, which take floats. */
float mo_float_beta(double beta, uint64_t step);

/* 1 / (1 - beta^step): what an average that started at 0 is divided by; 1 when not wanted. */
double mo_bias_correction(double wanted, double beta, uint64_t step);

#endif
