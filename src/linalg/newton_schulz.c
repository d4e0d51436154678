/* newton_schulz.c - orthogonalisation by an odd polynomial. */
#include "linalg/newton_schulz.h"

#include "base/simd.h"
#include "linalg/blas.h"
#include "linalg/vector.h"

#include <math.h>
#include <string.h>

const char *const mo_newton_schulz_names[5] = {"you5", "jordan5", "polar5", "exact", NULL};

enum { ITERATIONS = 5 };

typedef struct coefficients {
  float a, b, c;
} coefficients;

static const coefficients sets[][ITERATIONS] = {
    [MO_YOU5] = {{4.0848f, -6.8946f, 2.9270f},
                 {3.9505f, -6.3029f, 2.6377f},
                 {3.7418f, -5.5913f, 2.3037f},
                 {2.8769f, -3.1427f, 1.2046f},
                 {2.8366f, -3.0525f, 1.2012f}},
    [MO_JORDAN5] = {{3.4445f, -4.7750f, 2.0315f},
                    {3.4445f, -4.7750f, 2.0315f},
                    {3.4445f, -4.7750f, 2.0315f},
                    {3.4445f, -4.7750f, 2.0315f},
                    {3.4445f, -4.7750f, 2.0315f}},
    /* Polar Express (arXiv:2505.16932), its first five, for X divided by 1.02 of its norm. */
    [MO_POLAR5] = {{8.1566f, -22.4833f, 15.8788f},
                   {4.0429f, -2.8089f, 0.5000f},
                   {3.8917f, -2.7725f, 0.5061f},
                   {3.2858f, -2.3681f, 0.4645f},
                   {2.3465f, -1.7098f, 0.4232f}},
};

double mo_newton_schulz_norm(mo_newton_schulz_set set, double frobenius, double epsilon)
{
  return (set == MO_POLAR5 ? 1.02 * frobenius : frobenius) + epsilon;
}

MO_CLONES static void add_linear_terms(size_t n, const float *gram, coefficients k,
                                       float *factor)
{
  for (size_t i = 0; i < n; i++) {
#pragma omp simd
    for (size_t j = 0; j <= i; j++) factor[i * n + j] += k.b * gram[i * n + j];
    factor[i * n + i] += k.a;
  }
}

/* factor = a I + b A + c A A, its lower triangle, from the whole symmetric matrix A. */
static void quintic_triangle(size_t n, const float *gram, coefficients k, float *factor)
{
  mo_syrk(MO_LOWER, MO_PLAIN, n, n, k.c, gram, n, 0.0f, factor, n);
  add_linear_terms(n, gram, k, factor);
}

static void quintic_factor(size_t n, const float *gram, coefficients k, float *factor)
{
  quintic_triangle(n, gram, k, factor);
  mo_mirror(n, factor, n);
}

static void swap(float **x, float **y)
{
  float *swapped = *x;
  *x = *y;
  *y = swapped;
}

void mo_newton_schulz(mo_newton_schulz_set set, size_t rows, size_t cols, float *x,
                      float *spare, float *gram, float *factor)
{
  const bool wide = rows <= cols;
  const size_t n = wide ? rows : cols, k = wide ? cols : rows;
  float *from = x, *to = spare;
  for (int i = 0; i < ITERATIONS; i++) {
    mo_syrk(MO_LOWER, wide ? MO_PLAIN : MO_TRANSPOSED, n, k, 1.0f, from, cols, 0.0f, gram, n);
    mo_mirror(n, gram, n);
    quintic_triangle(n, gram, sets[set][i], factor);
    if (wide)
      mo_symm_left(MO_LOWER, rows, cols, factor, rows, from, cols, to, cols);
    else
      mo_symm_right(MO_LOWER, rows, cols, factor, cols, from, cols, to, cols);
    swap(&from, &to);
  }
  if (from != x) memcpy(x, from, rows * cols * sizeof *x);
}

/* c = x y for symmetric x and y that commute. */
static void commuting_product(size_t n, const float *x, const float *y, float *c)
{
  mo_symmetric_product(MO_PLAIN, MO_PLAIN, n, n, x, n, y, n, c);
}

static void square(size_t n, const float *x, float *c)
{
  mo_syrk(MO_LOWER, MO_PLAIN, n, n, 1.0f, x, n, 0.0f, c, n);
  mo_mirror(n, c, n);
}

double mo_newton_schulz_gram(mo_newton_schulz_set set, size_t n, mo_gram_arrays *m, bool norm)
{
  /* X <- q X turns A = X X^T into q q A and the polynomial p into q p. All of these commute, so
   * every product is symmetric again. */
  for (int i = 0; i < ITERATIONS; i++) {
    const bool last = i + 1 == ITERATIONS;
    float *factor = i == 0 ? m->polynomial : m->a;
    quintic_factor(n, m->gram, sets[set][i], factor);
    if (i > 0) {
      commuting_product(n, factor, m->polynomial, m->b);
      swap(&m->polynomial, &m->b);
    }
    if (!last || norm) square(n, factor, m->b);
    if (last) break;
    commuting_product(n, m->b, m->gram, m->a);
    swap(&m->gram, &m->a);
  }
  if (!norm) return 0.0;
  const double squared = mo_dot(m->b, m->gram, n * n); /* tr(q q A) = ||q X||^2 */
  return sqrt(squared > 0.0 ? squared : 0.0);
}
