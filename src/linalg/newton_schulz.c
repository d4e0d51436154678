/* newton_schulz.c - orthogonalisation by an odd polynomial. */
#include "linalg/newton_schulz.h"

#include "base/simd.h"
#include "linalg/blas.h"
#include "linalg/vector.h"

#include <math.h>
#include <string.h>

const char *const mo_newton_schulz_names[MO_NEWTON_SCHULZ_SETS + 1] = {
    "you5", "jordan5", "polar5", "exact", "exact12", "polar8", NULL};

typedef struct coefficients {
  float a, b, c;
} coefficients;

/* The last row is repeated when there are more iterations than rows. */
typedef struct coefficient_set {
  int iterations, rows;
  double safety; /* X is divided by this much more than its norm */
  coefficients row[8];
} coefficient_set;

static const coefficient_set sets[] = {
    [MO_YOU5] = {5,
                 5,
                 1.0,
                 {{4.0848f, -6.8946f, 2.9270f},
                  {3.9505f, -6.3029f, 2.6377f},
                  {3.7418f, -5.5913f, 2.3037f},
                  {2.8769f, -3.1427f, 1.2046f},
                  {2.8366f, -3.0525f, 1.2012f}}},
    [MO_JORDAN5] = {5, 1, 1.0, {{3.4445f, -4.7750f, 2.0315f}}},
    /* Polar Express (arXiv:2505.16932), its first five. */
    [MO_POLAR5] = {5,
                   5,
                   1.02,
                   {{8.156554524902461f, -22.48329292557795f, 15.878769915207462f},
                    {4.042929935166739f, -2.808917465908714f, 0.5000178451051316f},
                    {3.8916678022926607f, -2.772484153217685f, 0.5060648178503393f},
                    {3.285753657755655f, -2.3681294933425376f, 0.46449024233003106f},
                    {2.3465413258596377f, -1.7097828382687081f, 0.42323551169305323f}}},
    /* Twelve times (2, -1.5, 0.5), tangent to 1 in 1: exact where the singular values are above
     * 1e-3. These seven, fitted to the twelve, are off by at most 1.6e-4 for any of them from 0
     * to 1 and cost seven twelfths. */
    [MO_EXACT12] = {7,
                    7,
                    1.0,
                    {{8.68797389063005f, -25.5019924380017f, 18.7346736556791f},
                     {4.3407224770385f, -3.03873153116239f, 0.534314861278183f},
                     {3.9804565428983f, -2.60416557012232f, 0.434528569751706f},
                     {3.25317798261844f, -2.14972979696583f, 0.38644764129439f},
                     {2.31590235796417f, -1.57906576811933f, 0.367726498856779f},
                     {1.94007757426684f, -1.29090048771564f, 0.40942292419428f},
                     {1.86569672179199f, -1.21740171335681f, 0.352877225359006f}}},
    /* Polar Express in eight steps, with its own safety of 1.01 per step folded in. */
    [MO_POLAR8] = {8,
                   8,
                   1.0,
                   {{8.2051f, -22.9019f, 16.4607f},
                    {4.0664f, -2.8612f, 0.5184f},
                    {3.9096f, -2.8234f, 0.5250f},
                    {3.2856f, -2.4153f, 0.4853f},
                    {2.2779f, -1.6198f, 0.3985f},
                    {1.8726f, -1.2307f, 0.3585f},
                    {1.8564f, -1.2132f, 0.3568f},
                    {1.8750f, -1.2500f, 0.3750f}}},
};

static coefficients row_of(mo_newton_schulz_set set, int iteration)
{
  const coefficient_set *s = &sets[set];
  return s->row[iteration < s->rows ? iteration : s->rows - 1];
}

int mo_newton_schulz_iterations(mo_newton_schulz_set set)
{
  return set == MO_EXACT ? 0 : sets[set].iterations;
}

double mo_newton_schulz_norm(mo_newton_schulz_set set, double frobenius, double epsilon)
{
  return (set == MO_EXACT ? 1.0 : sets[set].safety) * frobenius + epsilon;
}

MO_CLONES(static void add_linear_terms(size_t n, const float *gram, coefficients k,
                                       float *factor))
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

void mo_newton_schulz(mo_newton_schulz_set set, bool known, size_t rows, size_t cols, float *x,
                      float *spare, float *gram, float *factor)
{
  const bool wide = rows <= cols;
  const size_t n = wide ? rows : cols, k = wide ? cols : rows;
  float *from = x, *to = spare;
  for (int i = 0; i < sets[set].iterations; i++) {
    if (i > 0 || !known) {
      mo_syrk(MO_LOWER, wide ? MO_PLAIN : MO_TRANSPOSED, n, k, 1.0f, from, cols, 0.0f, gram, n);
      mo_mirror(n, gram, n);
    }
    quintic_triangle(n, gram, row_of(set, i), factor);
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
  for (int i = 0; i < sets[set].iterations; i++) {
    const bool last = i + 1 == sets[set].iterations;
    float *factor = i == 0 ? m->polynomial : m->a;
    quintic_factor(n, m->gram, row_of(set, i), factor);
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
