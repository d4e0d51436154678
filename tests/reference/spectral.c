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
 *
 * radius and floor, with V = shape*U, in this order:
 *     brake      c = <V,W>/||W||^2; c < 0: V <- V - c/2*W
 *     floor      row: V_i <- V_i*max(1, floor_target*||W_i||/||V_i||); matrix: V as one row
 *     pin        r = ||W|| - lr*<V,W>/||W||; W <- W - lr*V; W <- W*r/||W||; then the decay, whose
 *                cautious mask is that of V and the W of before
 *     brake_pin  brake and pin
 *     ball       R = ||W||; W <- R*(W - lr*R*V/||V||)/||.||; no decay
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

enum { DECOUPLED, CORRECTED, INDEPENDENT, CAUTIOUS };
static const char *const decays[] = {"decoupled", "corrected", "independent", "cautious", NULL};
enum { FREE, BRAKE, PIN, BALL, BRAKE_PIN };
static const char *const radii[] = {"free", "brake", "pin", "ball", "brake_pin", NULL};

/* What the decay takes off W. */
static double shrinkage(const ref_optimizer *r, ref_finish defaults)
{
  const double lr = ref_number(r, "lr", defaults.lr), given = ref_number(r, "lr_peak", 0);
  const double peak = given > 0 ? given : lr;
  const double part = ref_number(r, "weight_decay", defaults.weight_decay);
  switch (ref_choice(r, "decay", decays, DECOUPLED)) {
  case CORRECTED:
    return part * lr * lr / peak;
  case INDEPENDENT:
    return part * lr / peak;
  default:
    return part * lr;
  }
}

static double along(size_t count, const double *v, const double *w)
{
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += v[i] * w[i];
  return sum;
}

static void brake(size_t count, const double *w, double *v)
{
  const double squares = along(count, w, w);
  const double c = squares > 0 ? along(count, v, w) / squares : 0;
  for (size_t i = 0; i < count && c < 0; i++) v[i] -= c / 2 * w[i];
}

static void lift(const ref_optimizer *r, const double *w, double *v)
{
  static const char *const floors[] = {"none", "matrix", "row", NULL};
  const size_t all = r->rows * r->cols, rule = ref_choice(r, "floor", floors, 0);
  const size_t length = rule == 2 ? r->cols : all;
  if (rule == 0) return;
  for (size_t at = 0; at < all; at += length) {
    const double least = ref_number(r, "floor_target", 0.3825) * ref_norm(w + at, length);
    const double norm = ref_norm(v + at, length);
    if (norm > 0 && norm < least) ref_scale(v + at, length, least / norm);
  }
}

/* W - step*V, brought to this norm. */
static void move_to(size_t count, double step, double norm, const double *v, double *w)
{
  for (size_t i = 0; i < count; i++) w[i] -= step * v[i];
  ref_scale(w, count, norm / ref_norm(w, count));
}

static void shrink(size_t count, double part, const double *v, const double *before, double *w)
{
  for (size_t i = 0; i < count; i++)
    if (v == NULL || v[i] * before[i] >= 0) w[i] *= 1 - part;
}

void ref_apply(const ref_optimizer *r, ref_finish defaults, double *w, const double *u)
{
  const size_t count = r->rows * r->cols, radius = ref_choice(r, "radius", radii, FREE);
  const double lr = ref_number(r, "lr", defaults.lr), part = shrinkage(r, defaults);
  const int cautious = ref_choice(r, "decay", decays, DECOUPLED) == CAUTIOUS;
  double *v = ref_copy(u, count), *before = ref_copy(w, count);
  ref_scale(v, count, shape_scale(r, defaults.shape));
  if (radius == BRAKE || radius == BRAKE_PIN) brake(count, w, v);
  lift(r, w, v);
  const double norm = ref_norm(w, count), length = ref_norm(v, count);
  if (radius == BALL && norm > 0 && length > 0) {
    move_to(count, lr * norm / length, norm, v, w);
  } else if ((radius == PIN || radius == BRAKE_PIN) && norm > 0) {
    move_to(count, lr, norm - lr * along(count, v, w) / norm, v, w);
    shrink(count, part, cautious ? v : NULL, before, w);
  } else {
    shrink(count, part, cautious ? v : NULL, before, w);
    for (size_t i = 0; i < count; i++) w[i] -= lr * v[i];
  }
  free(before);
  free(v);
}

void ref_apply_spectral(const ref_optimizer *r, double *w, const double *u)
{
  ref_apply(r, (ref_finish){0.02, 0.01, REF_SPECTRAL}, w, u);
}
