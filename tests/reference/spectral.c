/* spectral.c - Newton-Schulz and the scaled step, shared by the spectral optimizers.
 *
 * X <- X/(||X||_F + 1e-7), transposed first so that rows <= cols; then for each (a,b,c):
 * A = X X^T; X <- a X + (b A + c A A) X. For polar5 ||X||_F is multiplied by 1.02 before the
 * 1e-7 is added. divisor schatten4 divides by ||X||_4 = ||X X^T||_F^(1/2) instead. `exact` is
 * the polar factor times ||X||_F/(||X||_F + 1e-7); directions with a singular value of at most
 * 1e-6 of the largest are zero.
 *
 * decay, with wd = weight_decay and s = lr*shape:
 *     decoupled    W <- W*(1 - lr*wd) - s*U
 *     corrected    W <- W*(1 - lr^2/lr_peak*wd) - s*U
 *     independent  W <- W*(1 - lr/lr_peak*wd) - s*U
 *     cautious     W <- W - lr*wd*W where U*W >= 0, then - s*U
 */
#include "reference/dense.h"
#include "reference/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ITERATIONS = 12 };
static const char *const sets[] = {"you5",    "jordan5", "polar5", "exact",
                                   "exact12", "polar8",  NULL};

typedef struct coefficient_set {
  size_t iterations;
  double safety; /* multiplies the divisor */
  double abc[MAX_ITERATIONS][3];
} coefficient_set;

#define JORDAN                                                                                 \
  {                                                                                            \
    3.4445, -4.7750, 2.0315                                                                    \
  }
#define QUINTIC                                                                                \
  {                                                                                            \
    2, -1.5, 0.5                                                                               \
  }

static const coefficient_set coefficients[] = {
    [REF_YOU5] = {5,
                  1,
                  {{4.0848, -6.8946, 2.9270},
                   {3.9505, -6.3029, 2.6377},
                   {3.7418, -5.5913, 2.3037},
                   {2.8769, -3.1427, 1.2046},
                   {2.8366, -3.0525, 1.2012}}},
    [REF_JORDAN5] = {5, 1, {JORDAN, JORDAN, JORDAN, JORDAN, JORDAN}},
    [REF_POLAR5] = {5,
                    1.02,
                    {{8.156554524902461, -22.48329292557795, 15.878769915207462},
                     {4.042929935166739, -2.808917465908714, 0.5000178451051316},
                     {3.8916678022926607, -2.772484153217685, 0.5060648178503393},
                     {3.285753657755655, -2.3681294933425376, 0.46449024233003106},
                     {2.3465413258596377, -1.7097828382687081, 0.42323551169305323}}},
    [REF_EXACT12] = {12,
                     1,
                     {QUINTIC, QUINTIC, QUINTIC, QUINTIC, QUINTIC, QUINTIC, QUINTIC, QUINTIC,
                      QUINTIC, QUINTIC, QUINTIC, QUINTIC}},
    [REF_POLAR8] = {8,
                    1,
                    {{8.2051, -22.9019, 16.4607},
                     {4.0664, -2.8612, 0.5184},
                     {3.9096, -2.8234, 0.5250},
                     {3.2856, -2.4153, 0.4853},
                     {2.2779, -1.6198, 0.3985},
                     {1.8726, -1.2307, 0.3585},
                     {1.8564, -1.2132, 0.3568},
                     {1.8750, -1.2500, 0.3750}}},
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

static double divisor_of(size_t rule, size_t m, size_t n, const double *x)
{
  if (rule == REF_FROBENIUS) return ref_norm(x, m * n);
  double *gram = ref_zeros(m * m);
  ref_average_left(m, n, x, 0, gram);
  const double norm = sqrt(ref_norm(gram, m * m));
  free(gram);
  return norm;
}

/* x (m x n, m <= n) becomes NS(x). */
static void orthogonalise_wide(size_t set, size_t divisor, size_t m, size_t n, double *x)
{
  const coefficient_set *c = &coefficients[set];
  ref_scale(x, m * n, 1 / (divisor_of(divisor, m, n, x) * c->safety + 1e-7));
  for (size_t i = 0; i < c->iterations; i++) iterate(m, n, c->abc[i], x);
}

void ref_orthogonalise(const ref_optimizer *r, size_t set, size_t divisor, size_t m, size_t n,
                       const double *x, double *out)
{
  static const char *const divisors[] = {"frobenius", "schatten4", NULL};
  set = ref_choice(r, "newton_schulz", sets, set);
  divisor = ref_choice(r, "divisor", divisors, divisor);
  if (set == REF_EXACT) {
    const double norm = ref_norm(x, m * n);
    ref_polar(m, n, x, 1e-6, out);
    ref_scale(out, m * n, norm / (norm + 1e-7));
  } else if (m <= n) {
    memcpy(out, x, m * n * sizeof *out);
    orthogonalise_wide(set, divisor, m, n, out);
  } else {
    double *wide = ref_zeros(m * n);
    ref_transpose(m, n, x, wide);
    orthogonalise_wide(set, divisor, n, m, wide);
    ref_transpose(n, m, wide, out);
    free(wide);
  }
}

void ref_newton_schulz(const ref_optimizer *r, const double *x, double *out)
{
  ref_orthogonalise(r, REF_YOU5, REF_FROBENIUS, r->rows, r->cols, x, out);
}

static double shape_scale(const ref_optimizer *r, size_t otherwise)
{
  static const char *const shapes[] = {"spectral", "rms", "jordan", "none", NULL};
  const double m = (double)r->rows, n = (double)r->cols;
  switch (ref_choice(r, "shape", shapes, otherwise)) {
  case REF_SPECTRAL:
    return sqrt(m / n);
  case REF_RMS:
    return 0.2 * sqrt(fmax(m, n));
  case REF_JORDAN:
    return sqrt(fmax(1, m / n));
  default:
    return 1;
  }
}

void ref_apply(const ref_optimizer *r, ref_finish defaults, double *w, const double *u)
{
  enum { DECOUPLED, CORRECTED, INDEPENDENT, CAUTIOUS };
  static const char *const rules[] = {"decoupled", "corrected", "independent", "cautious",
                                      NULL};
  const double lr = ref_number(r, "lr", defaults.lr), peak = ref_number(r, "lr_peak", lr);
  const double scale = lr * shape_scale(r, defaults.shape);
  const size_t rule = ref_choice(r, "decay", rules, DECOUPLED);
  double shrink = lr * ref_number(r, "weight_decay", defaults.weight_decay);
  if (rule == CORRECTED) shrink *= lr / peak;
  if (rule == INDEPENDENT) shrink /= peak;
  for (size_t i = 0; i < r->rows * r->cols; i++) {
    const int spared = rule == CAUTIOUS && u[i] * w[i] < 0;
    w[i] = (spared ? w[i] : w[i] * (1 - shrink)) - scale * u[i];
  }
}

void ref_apply_spectral(const ref_optimizer *r, double *w, const double *u)
{
  ref_apply(r, (ref_finish){0.02, 0.01, REF_SPECTRAL}, w, u);
}
