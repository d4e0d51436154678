/* difference.h - a layer's gradient against differences of a slow version of it in double. */
#ifndef TESTS_GRADIENT_DIFFERENCE_H
#define TESTS_GRADIENT_DIFFERENCE_H

#include "base/random.h"
#include "check.h"
#include "gpt/layers/layers.h"

#include <math.h>
#include <string.h>

enum { MOST = 4096 };

/* The inputs as doubles, and what the objective needs besides them. */
typedef struct problem {
  double x[MOST], c[MOST];
  size_t count; /* of x */
  size_t rows, width, heads;
  const float *cosines, *sines;
  size_t target;
} problem;

typedef double (*objective)(const problem *p);

static inline void fill(problem *p, float *x, size_t count, float *c, size_t c_count,
                        uint64_t seed)
{
  assert_true(count <= MOST && c_count <= MOST);
  mo_random_fill(x, count, 1.0, seed, 1);
  mo_random_fill(c, c_count, 1.0, seed, 2);
  for (size_t i = 0; i < count; i++) p->x[i] = x[i];
  for (size_t i = 0; i < c_count; i++) p->c[i] = c[i];
  p->count = count;
}

static inline void check_gradient(problem *p, objective f, const float *gradient)
{
  const double h = 1e-5;
  double error = 0, norm = 0;
  for (size_t i = 0; i < p->count; i++) {
    const double kept = p->x[i];
    p->x[i] = kept + h;
    const double above = f(p);
    p->x[i] = kept - h;
    const double below = f(p);
    p->x[i] = kept;
    const double expected = (above - below) / (2 * h);
    error += (gradient[i] - expected) * (gradient[i] - expected);
    norm += expected * expected;
  }
  if (!(sqrt(error) <= 1e-5 * sqrt(norm) + 1e-7))
    fail_msg("gradient differs by %g of norm %g", sqrt(error), sqrt(norm));
}

/* sum c_i y_i of the float layer must be the slow version's. */
static inline void check_value(const problem *p, objective f, const float *y, size_t count)
{
  double ours = 0, size = 1;
  for (size_t i = 0; i < count; i++) {
    ours += p->c[i] * y[i];
    size += fabs(p->c[i] * y[i]);
  }
  if (!(fabs(ours - f(p)) <= 1e-6 * size)) fail_msg("%.9g, expected %.9g", ours, f(p));
}

#endif
