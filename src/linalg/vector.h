/* vector.h - passes over float arrays, vectorised, with sums in double and in a fixed order. */
#ifndef MOUSSE_LINALG_VECTOR_H
#define MOUSSE_LINALG_VECTOR_H

#include <float.h>
#include <stdbool.h>
#include <stddef.h>

/* The nearest float: beyond their range the last one, so that a weight that grows without end
 * stops there and stays a number. */
static inline float mo_nearest_float(double x)
{
  const double end = (double)FLT_MAX, below = x > end ? end : x;
  return (float)(below < -end ? -end : below);
}

/* As a float, or 0 below the smallest normal one. What fades would stay there for ever: 0.95
 * times the smallest floats rounds back to them, and they slow every product they enter. */
static inline float mo_normal_float(double x)
{
  const double size = x < 0.0 ? -x : x;
  return size < (double)FLT_MIN ? 0.0f : (float)x;
}

/* The largest magnitude, or a negative number when any element is NaN or infinite. */
float mo_largest(const float *x, size_t count);

double mo_sum_squares(const float *x, size_t count);
double mo_dot(const float *x, const float *y, size_t count);
double mo_trace(const float *a, size_t n); /* of an n x n matrix */

void mo_scale(float *x, size_t count, float factor);
void mo_accumulate(float *to, const float *from, size_t count);             /* to += from */
void mo_subtract(float *to, const float *from, size_t count, float factor); /* to -= f from */
void mo_copy_scaled(float *to, const float *from, size_t count, float factor);

/* w = keep * w - step * u: decoupled decay and the step, in one pass, in double: a keep of
 * 1 - 1e-7 is none in float. As mo_nearest_float. */
void mo_apply(float *w, const float *u, size_t count, double keep, double step);

#endif
