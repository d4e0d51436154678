/* vector.c - passes over float arrays. */
#include "linalg/vector.h"

#include "base/simd.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* The bits of |x| order like |x| itself, and NaN and infinity come after every number: one
 * integer maximum answers both questions. */
MO_CLONES(float mo_largest(const float *x, size_t count))
{
  uint32_t largest = 0;
#pragma omp simd reduction(max : largest)
  for (size_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, x + i, sizeof bits);
    bits &= UINT32_C(0x7fffffff);
    largest = bits > largest ? bits : largest;
  }
  if (largest >= UINT32_C(0x7f800000)) return -1.0f;
  float value;
  memcpy(&value, &largest, sizeof value);
  return value;
}

MO_CLONES(double mo_sum_squares(const float *x, size_t count))
{
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < count; i++) sum += (double)x[i] * (double)x[i];
  return sum;
}

MO_CLONES(double mo_dot(const float *x, const float *y, size_t count))
{
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < count; i++) sum += (double)x[i] * (double)y[i];
  return sum;
}

double mo_trace(const float *a, size_t n)
{
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += (double)a[i * n + i];
  return sum;
}

MO_CLONES(void mo_scale(float *x, size_t count, float factor))
{
#pragma omp simd
  for (size_t i = 0; i < count; i++) x[i] *= factor;
}

MO_CLONES(void mo_accumulate(float *restrict to, const float *restrict from, size_t count))
{
#pragma omp simd
  for (size_t i = 0; i < count; i++) to[i] += from[i];
}

MO_CLONES(void mo_subtract(float *restrict to, const float *restrict from, size_t count,
                           float factor))
{
#pragma omp simd
  for (size_t i = 0; i < count; i++) to[i] -= factor * from[i];
}

MO_CLONES(void mo_copy_scaled(float *restrict to, const float *restrict from, size_t count,
                              float factor))
{
#pragma omp simd
  for (size_t i = 0; i < count; i++) to[i] = factor * from[i];
}

MO_CLONES(void mo_apply(float *restrict w, const float *restrict u, size_t count, double keep,
                        double step))
{
#pragma omp simd
  for (size_t i = 0; i < count; i++)
    w[i] = mo_nearest_float(keep * (double)w[i] - step * (double)u[i]);
}
