/* newton_schulz.c - orthogonalisation by an odd polynomial. */
#include "linalg/newton_schulz.h"

#include "base/simd.h"
#include "linalg/blas.h"
#include "linalg/definite.h"
#include "linalg/vector.h"

#include <math.h>
#include <string.h>

const char *const mo_newton_schulz_names[MO_NEWTON_SCHULZ_SETS + 1] = {
    "you5", "jordan5", "polar5", "exact", "exact12", "polar8", NULL};

/* q = a I + b A + c A A, or with a shift a I + b A + c (A + shift I)^-1. */
typedef struct coefficients {
  float a, b, c, shift;
} coefficients;

/* The last row is repeated when there are more iterations than rows. */
typedef struct coefficient_set {
  int iterations, rows;
  double safety; /* X is divided by this much more than its norm */
  coefficients row[8];
} coefficient_set;

#define QUINTIC(a, b, c)                                                                       \
  {                                                                                            \
    a, b, c, 0.0f                                                                              \
  }

static const coefficient_set sets[] = {
    [MO_YOU5] = {5,
                 5,
                 1.0,
                 {QUINTIC(4.0848f, -6.8946f, 2.9270f), QUINTIC(3.9505f, -6.3029f, 2.6377f),
                  QUINTIC(3.7418f, -5.5913f, 2.3037f), QUINTIC(2.8769f, -3.1427f, 1.2046f),
                  QUINTIC(2.8366f, -3.0525f, 1.2012f)}},
    [MO_JORDAN5] = {5, 1, 1.0, {QUINTIC(3.4445f, -4.7750f, 2.0315f)}},
    /* Polar Express (arXiv:2505.16932), its first five. */
    [MO_POLAR5] = {5,
                   5,
                   1.02,
                   {QUINTIC(8.156554524902461f, -22.48329292557795f, 15.878769915207462f),
                    QUINTIC(4.042929935166739f, -2.808917465908714f, 0.5000178451051316f),
                    QUINTIC(3.8916678022926607f, -2.772484153217685f, 0.5060648178503393f),
                    QUINTIC(3.285753657755655f, -2.3681294933425376f, 0.46449024233003106f),
                    QUINTIC(2.3465413258596377f, -1.7097828382687081f, 0.42323551169305323f)}},
    /* Twelve times (2, -1.5, 0.5), tangent to 1 in 1: exact where the singular values are above
     * 1e-3. These five, one of them with an inverse, are fitted to the twelve: off by at most
     * 5e-5 for any singular value from 0 to 1, and cost little more than five twelfths. */
    [MO_EXACT12] = {5,
                    5,
                    1.0,
                    {QUINTIC(11.6362320489241f, -34.5286422328212f, 25.6426050589224f),
                     QUINTIC(14.7243164879862f, -5.80920306574284f, 0.575651640716391f),
                     {0.422497321546438f, -0.0033379692307394f, 1.00154374199494f,
                      0.104989156657548f},
                     QUINTIC(1.62175931364404f, -0.434375821839985f, 0.0501828652099918f),
                     QUINTIC(1.47955496012045f, -0.60727241313854f, 0.110766079320441f)}},
    /* Polar Express in eight steps, with its own safety of 1.01 per step folded in. */
    [MO_POLAR8] = {8,
                   8,
                   1.0,
                   {QUINTIC(8.2051f, -22.9019f, 16.4607f), QUINTIC(4.0664f, -2.8612f, 0.5184f),
                    QUINTIC(3.9096f, -2.8234f, 0.5250f), QUINTIC(3.2856f, -2.4153f, 0.4853f),
                    QUINTIC(2.2779f, -1.6198f, 0.3985f), QUINTIC(1.8726f, -1.2307f, 0.3585f),
                    QUINTIC(1.8564f, -1.2132f, 0.3568f), QUINTIC(1.8750f, -1.2500f, 0.3750f)}},
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

/* factor = a I + b A + c (A + shift I)^-1, whole; false when there is no such inverse. */
static bool rational_factor(size_t n, const float *gram, coefficients k, float *factor,
                            float *work)
{
  memcpy(work, gram, n * n * sizeof *work);
  for (size_t i = 0; i < n; i++) work[i * n + i] += k.shift;
  if (!mo_definite_invert_factor(n, work, n)) return false;
  mo_copy_scaled(factor, gram, n * n, k.b);
  for (size_t i = 0; i < n; i++) factor[i * n + i] += k.a;
  mo_definite_add_inverse(n, k.c, work, n, factor, n);
  mo_mirror_upper(n, factor, n);
  return true;
}

/* q, whole; work is n x n. Without an inverse, which a matrix of squares always has, not a
 * number: who called sees it in the norm. */
static void whole_factor(size_t n, const float *gram, coefficients k, float *factor,
                         float *work)
{
  if (k.shift == 0.0f) {
    quintic_triangle(n, gram, k, factor);
    mo_mirror(n, factor, n);
  } else if (!rational_factor(n, gram, k, factor, work)) {
    for (size_t i = 0; i < n * n; i++) factor[i] = NAN;
  }
}

static void swap(float **x, float **y)
{
  float *swapped = *x;
  *x = *y;
  *y = swapped;
}

float *mo_newton_schulz(mo_newton_schulz_set set, bool known, size_t rows, size_t cols,
                        float *x, float *spare, float *gram, float *factor)
{
  const bool wide = rows <= cols;
  const size_t n = wide ? rows : cols, k = wide ? cols : rows;
  float *from = x, *to = spare;
  for (int i = 0; i < sets[set].iterations; i++) {
    if (i > 0 || !known) {
      mo_syrk(MO_LOWER, wide ? MO_PLAIN : MO_TRANSPOSED, n, k, 1.0f, from, cols, 0.0f, gram, n);
      mo_mirror(n, gram, n);
    }
    const coefficients k_i = row_of(set, i);
    if (k_i.shift == 0.0f)
      quintic_triangle(n, gram, k_i, factor);
    else if (!rational_factor(n, gram, k_i, factor, to))
      continue;
    if (wide)
      mo_symm_left(MO_LOWER, rows, cols, factor, rows, from, cols, to, cols);
    else
      mo_symm_right(MO_LOWER, rows, cols, factor, cols, from, cols, to, cols);
    swap(&from, &to);
  }
  return from;
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
    whole_factor(n, m->gram, row_of(set, i), factor, m->b);
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
