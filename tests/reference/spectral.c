/* spectral.c - Newton-Schulz and the scaled step, shared by muon and mousse.
 *
 * X <- X/(||X||_F + 1e-7), transposed first so that rows <= cols; then for each (a,b,c):
 * A = X X^T; X <- a X + (b A + c A A) X. For polar5 ||X||_F is multiplied by 1.02 before the
 * 1e-7 is added. `exact` is the polar factor; directions with a singular value of at most 1e-6
 * of the largest are zero.
 */
#include "reference/dense.h"
#include "reference/reference.h"

#include <math.h>
#include <stdlib.h>

enum { ITERATIONS = 5, YOU5 = 0, JORDAN5, POLAR5, EXACT };
static const char *const sets[] = {"you5", "jordan5", "polar5", "exact", NULL};

static const double coefficients[][ITERATIONS][3] = {
    [YOU5] = {{4.0848, -6.8946, 2.9270},
              {3.9505, -6.3029, 2.6377},
              {3.7418, -5.5913, 2.3037},
              {2.8769, -3.1427, 1.2046},
              {2.8366, -3.0525, 1.2012}},
    [JORDAN5] = {{3.4445, -4.7750, 2.0315},
                 {3.4445, -4.7750, 2.0315},
                 {3.4445, -4.7750, 2.0315},
                 {3.4445, -4.7750, 2.0315},
                 {3.4445, -4.7750, 2.0315}},
    [POLAR5] = {{8.1566, -22.4833, 15.8788},
                {4.0429, -2.8089, 0.5000},
                {3.8917, -2.7725, 0.5061},
                {3.2858, -2.3681, 0.4645},
                {2.3465, -1.7098, 0.4232}},
};

/* One iteration on x (m x n). */
static void iterate(size_t m, size_t n, const double abc[3], double *x)
{
  double *gram = ref_zeros(m * m), *square = ref_zeros(m * m), *product = ref_zeros(m * n);
  ref_average_left(m, n, x, 0, gram);
  ref_multiply(m, m, m, gram, gram, square);
  for (size_t i = 0; i < m * m; i++) square[i] = abc[1] * gram[i] + abc[2] * square[i];
  ref_multiply(m, m, n, square, x, product);
  for (size_t i = 0; i < m * n; i++) x[i] = abc[0] * x[i] + product[i];
  free(product);
  free(square);
  free(gram);
}

void ref_newton_schulz(const ref_optimizer *r, const double *x, double *out)
{
  const size_t set = ref_choice(r, "newton_schulz", sets, YOU5);
  if (set == EXACT) {
    ref_polar(r->rows, r->cols, x, 1e-6, out);
    return;
  }
  const size_t count = r->rows * r->cols;
  const int tall = r->rows > r->cols;
  const size_t m = tall ? r->cols : r->rows, n = tall ? r->rows : r->cols;
  double *wide = ref_copy(x, count);
  if (tall) ref_transpose(r->rows, r->cols, x, wide);
  ref_scale(wide, count, 1 / (ref_norm(x, count) * (set == POLAR5 ? 1.02 : 1) + 1e-7));
  for (size_t i = 0; i < ITERATIONS; i++) iterate(m, n, coefficients[set][i], wide);
  ref_transpose(m, n, wide, out);
  if (!tall)
    for (size_t i = 0; i < count; i++) out[i] = wide[i];
  free(wide);
}

static double shape_scale(const ref_optimizer *r)
{
  static const char *const shapes[] = {"spectral", "rms", "jordan", "none", NULL};
  const double m = (double)r->rows, n = (double)r->cols;
  switch (ref_choice(r, "shape", shapes, 0)) {
  case 0:
    return sqrt(m / n);
  case 1:
    return 0.2 * sqrt(fmax(m, n));
  case 2:
    return sqrt(fmax(1, m / n));
  default:
    return 1;
  }
}

void ref_apply_spectral(const ref_optimizer *r, double *w, const double *u)
{
  const double lr = ref_number(r, "lr", 0.02), decay = ref_number(r, "weight_decay", 0.01);
  const double scale = lr * shape_scale(r);
  for (size_t i = 0; i < r->rows * r->cols; i++) w[i] = w[i] * (1 - lr * decay) - scale * u[i];
}
