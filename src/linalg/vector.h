/* vector.h - passes over float arrays, vectorised, with sums in double and in a fixed order. */
#ifndef MOUSSE_LINALG_VECTOR_H
#define MOUSSE_LINALG_VECTOR_H

#include <stdbool.h>
#include <stddef.h>

/* The largest magnitude, or a negative number when any element is NaN or infinite. */
float mo_largest(const float *x, size_t count);

double mo_sum_squares(const float *x, size_t count);
double mo_dot(const float *x, const float *y, size_t count);
double mo_trace(const float *a, size_t n); /* of an n x n matrix */

void mo_scale(float *x, size_t count, float factor);
void mo_accumulate(float *to, const float *from, size_t count);             /* to += from */
void mo_subtract(float *to, const float *from, size_t count, float factor); /* to -= f from */
void mo_copy_scaled(float *to, const float *from, size_t count, float factor);

/* w = keep * w - step * u: decoupled decay and the step, in one pass. */
void mo_apply(float *w, const float *u, size_t count, float keep, float step);

#endif
