/* spectral.c - whiten, orthogonalise, unwhiten. */
#include "optim/spectral.h"

#include "linalg/blas.h"
#include "linalg/lapack.h"
#include "linalg/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t shorter(mo_shape shape)
{
  return shape.rows < shape.cols ? shape.rows : shape.cols;
}

static size_t longer(mo_shape shape)
{
  return shape.rows < shape.cols ? shape.cols : shape.rows;
}

static bool wide(mo_shape shape)
{
  return shape.rows <= shape.cols;
}

static mo_side short_side(const mo_spectral *p)
{
  return wide(p->shape) ? p->left : p->right;
}

static mo_side long_side(const mo_spectral *p)
{
  return wide(p->shape) ? p->right : p->left;
}

static bool grafted(const mo_spectral *p)
{
  return p->graft && (p->left.size > 0 || p->right.size > 0);
}

/* Of a polynomial; the exact factor costs about as much as 20 of them. */
static double iterations(const mo_spectral *p)
{
  return p->set == MO_EXACT ? 20.0 : (double)mo_newton_schulz_iterations(p->set);
}

/* In products of s x s x l (s the short, l the long side), each counted as 2 s s l flops;
 * symmetric ones cost about 0.6. */
static double plain_flops(const mo_spectral *p)
{
  const double s = (double)shorter(p->shape), l = (double)longer(p->shape);
  const double whiten = 2 * s * l * (double)(p->left.block + p->right.block);
  const double iteration = 0.6 * 2 * s * s * l + 0.6 * 2 * s * s * s + 2 * s * s * l;
  return (p->outer ? 2.0 : 1.0) * whiten + iterations(p) * iteration;
}

static double fused_flops(const mo_spectral *p)
{
  const double s = (double)shorter(p->shape), l = (double)longer(p->shape);
  const double whiten = 2 * s * l * (double)long_side(p).block;
  const double roots = 3.3 * 2 * s * s * (double)short_side(p).block;
  const double gram = (long_side(p).size > 0 ? 1.0 : 0.6) * 2 * s * s * l;
  const double small = (4 * iterations(p) - 2) * 0.6 * 2 * s * s * s;
  return whiten + roots + gram + small + 2 * s * s * l;
}

bool mo_spectral_fused_possible(const mo_spectral *p)
{
  return p->outer && p->set != MO_EXACT;
}

/* Small matrices cost little either way, and the plain form stands more: it does not square
 * the condition number, which with gradients of rank 1 is beyond float. */
bool mo_spectral_fused_pays(const mo_spectral *p)
{
  enum { SMALL = 128 };
  return mo_spectral_fused_possible(p) && shorter(p->shape) > SMALL &&
         fused_flops(p) < plain_flops(p);
}

double mo_spectral_flops(const mo_spectral *p)
{
  return p->fused ? fused_flops(p) : plain_flops(p);
}

double mo_spectral_power(const mo_spectral *p, mo_side side, double alpha)
{
  const bool is_long = side.right == long_side(p).right;
  return p->fused && is_long ? 2.0 * alpha : alpha;
}

size_t mo_spectral_floats(const mo_spectral *p)
{
  const size_t n = shorter(p->shape), all = mo_elements(p->shape);
  const size_t squares = (p->fused ? 4 : 2) * mo_scratch_floats(n * n);
  const size_t arrays = (p->fused ? 2 : 3) * mo_scratch_floats(all);
  const size_t exact =
      p->set == MO_EXACT
          ? mo_scratch_floats(2 * mo_polar_work_doubles(p->shape.rows, p->shape.cols))
          : 0;
  return squares + arrays + exact;
}

/* ||M - I||_F / sqrt(n) for the n x n matrix M = N N^T. */
static double residual(size_t n, const float *m)
{
  double sum = mo_sum_squares(m, n * n) - 2.0 * mo_trace(m, n) + (double)n;
  return sqrt(fmax(sum, 0.0) / (double)n);
}

/* N = NS(X) in place; returns ||N||_F. spare is as large as x, the rest as mo_newton_schulz. */
static double orthogonalise(const mo_spectral *p, double epsilon, float *x, float *spare,
                            float *gram, float *factor, float *rest)
{
  const size_t rows = p->shape.rows, cols = p->shape.cols, all = mo_elements(p->shape);
  const double frobenius = sqrt(mo_sum_squares(x, all));
  if (frobenius == 0.0) return 0.0;
  if (p->set == MO_EXACT) {
    /* Dividing first keeps tiny and huge matrices within float and changes no direction. */
    mo_scale(x, all, (float)(1.0 / frobenius));
    if (!mo_polar(rows, cols, x, (double *)(void *)rest)) return 1.0; /* the normalised X */
  } else {
    mo_scale(x, all, (float)(1.0 / mo_newton_schulz_norm(p->set, frobenius, epsilon)));
    mo_newton_schulz(p->set, rows, cols, x, spare, gram, factor);
  }
  return sqrt(mo_sum_squares(x, all));
}

static void plain_update(const mo_spectral *p, const float *x0, const float *left_fold,
                         const float *right_fold, double epsilon, float *u, float *work,
                         mo_telemetry *telemetry)
{
  const size_t n = shorter(p->shape), all = mo_elements(p->shape);
  float *x = mo_scratch_take(&work, all), *spare = mo_scratch_take(&work, all);
  float *gram = mo_scratch_take(&work, n * n), *factor = mo_scratch_take(&work, n * n);
  const bool has_left = p->left.size > 0, has_right = p->right.size > 0;

  float *half = has_right ? spare : x; /* after the left product */
  if (has_left) mo_side_multiply(p->left, p->shape, left_fold, x0, half);
  if (has_right) mo_side_multiply(p->right, p->shape, right_fold, has_left ? half : x0, x);
  if (!has_left && !has_right) memcpy(x, x0, all * sizeof *x);

  const double gamma = orthogonalise(p, epsilon, x, spare, gram, factor, work);
  if (telemetry != NULL) {
    mo_syrk(MO_LOWER, wide(p->shape) ? MO_PLAIN : MO_TRANSPOSED, n, longer(p->shape), 1.0f, x,
            p->shape.cols, 0.0f, gram, n);
    mo_mirror(n, gram, n);
    mo_note(telemetry, MO_NS_RESIDUAL, residual(n, gram));
  }
  if (!p->outer || (!has_left && !has_right)) {
    memcpy(u, x, all * sizeof *u);
    return;
  }
  half = has_right ? spare : u;
  if (has_left) mo_side_multiply(p->left, p->shape, left_fold, x, half);
  if (has_right) mo_side_multiply(p->right, p->shape, right_fold, has_left ? half : x, u);
  const double norm = sqrt(mo_sum_squares(u, all));
  if (p->graft && norm > 0.0) mo_scale(u, all, (float)(gamma / norm));
}

/* c = short x short: y x0^T (wide) or x0^T y (tall), known to be symmetric. */
static void short_gram(mo_shape shape, bool same, const float *x0, const float *y, float *c)
{
  const size_t n = shorter(shape), k = longer(shape), cols = shape.cols;
  if (same) {
    mo_syrk(MO_LOWER, wide(shape) ? MO_PLAIN : MO_TRANSPOSED, n, k, 1.0f, x0, cols, 0.0f, c, n);
    mo_mirror(n, c, n);
  } else if (wide(shape)) {
    mo_symmetric_product(MO_PLAIN, MO_TRANSPOSED, n, k, y, cols, x0, cols, c);
  } else {
    mo_symmetric_product(MO_TRANSPOSED, MO_PLAIN, n, k, x0, cols, y, cols, c);
  }
}

/* out = P in P for the short side's root P in `pair` and a symmetric `in`; half and dense are
 * scratch. All n x n. The second product is known to be symmetric. */
static void sandwich(mo_side side, const float *pair, const float *in, float *half,
                     float *dense, float *out)
{
  const size_t n = side.size;
  const mo_shape square = {n, n};
  mo_side_multiply((mo_side){false, n, side.block}, square, pair, in, half);
  if (side.block < n) {
    mo_side_multiply((mo_side){true, n, side.block}, square, pair, half, out);
    return;
  }
  mo_side_dense(side, pair, dense);
  mo_symmetric_product(MO_PLAIN, MO_PLAIN, n, n, half, n, dense, n, out);
}

/* u = (polynomial Y) / norm on the short side, of length gamma if grafted. */
static void unwhiten(const mo_spectral *p, const float *polynomial, const float *y, double norm,
                     double gamma, float *u)
{
  const size_t n = shorter(p->shape), all = mo_elements(p->shape), cols = p->shape.cols;
  const float scale = (float)(1.0 / norm);
  if (wide(p->shape))
    mo_gemm(MO_PLAIN, MO_PLAIN, n, cols, n, scale, polynomial, n, y, cols, 0.0f, u, cols);
  else
    mo_gemm(MO_PLAIN, MO_PLAIN, p->shape.rows, n, n, scale, y, cols, polynomial, n, 0.0f, u,
            cols);
  if (!grafted(p)) return;
  const double length = sqrt(mo_sum_squares(u, all));
  if (length > 0.0) mo_scale(u, all, (float)(gamma / length));
}

/* The unwhitened x0 orthogonalised: what is left when the fused form has lost its digits. */
static void as_muon(const mo_spectral *p, const float *x0, double epsilon, float *u,
                    float *work)
{
  const size_t n = shorter(p->shape), all = mo_elements(p->shape);
  float *spare = mo_scratch_take(&work, all), *gram = mo_scratch_take(&work, n * n);
  memcpy(u, x0, all * sizeof *u);
  orthogonalise(p, epsilon, u, spare, gram, mo_scratch_take(&work, n * n), work);
}

/* The condition number of P Y X0^T P is the square of X's. With extreme options (alpha 0.5 and
 * eps 1e-10 whiten by 1e10) its rounding has eigenvalues far below 0, on which the iteration
 * grows without end; the norm of a good N is below 1.2 sqrt(n). False, with u undefined, then. */
static bool fused_update(const mo_spectral *p, const float *x0, const float *short_fold,
                         const float *long_fold, double epsilon, float *u, float *work,
                         mo_telemetry *telemetry)
{
  const size_t n = shorter(p->shape), all = mo_elements(p->shape);
  const bool has_short = short_side(p).size > 0, has_long = long_side(p).size > 0;
  float *whitened = mo_scratch_take(&work, all);
  mo_gram_arrays m = {.gram = mo_scratch_take(&work, n * n),
                      .polynomial = mo_scratch_take(&work, n * n),
                      .a = mo_scratch_take(&work, n * n),
                      .b = mo_scratch_take(&work, n * n)};

  const float *y = x0;
  if (has_long) {
    mo_side_multiply(long_side(p), p->shape, long_fold, x0, whitened);
    y = whitened;
  }
  float *raw = has_short ? m.b : m.gram; /* Y X0^T */
  short_gram(p->shape, !has_long, x0, y, raw);
  if (has_short) sandwich(short_side(p), short_fold, raw, m.a, m.polynomial, m.gram);
  const double squared = mo_trace(m.gram, n); /* ||X||_F^2 */
  if (!(squared > 0.0)) {
    memset(u, 0, all * sizeof *u);
    return mo_sum_squares(x0, all) == 0.0;
  }
  const double norm = mo_newton_schulz_norm(p->set, sqrt(squared), epsilon);
  mo_scale(m.gram, n * n, (float)(1.0 / (norm * norm)));
  const bool whitened_at_all = has_short || has_long;
  const double gamma =
      mo_newton_schulz_gram(p->set, n, &m, whitened_at_all || telemetry != NULL);
  if (whitened_at_all && !(gamma <= 1.5 * sqrt((double)n))) return false;
  if (telemetry != NULL) { /* N N^T */
    mo_symmetric_product(MO_PLAIN, MO_PLAIN, n, n, m.b, n, m.gram, n, m.a);
    mo_note(telemetry, MO_NS_RESIDUAL, residual(n, m.a));
  }
  const float *polynomial = m.polynomial;
  if (has_short) {
    sandwich(short_side(p), short_fold, m.polynomial, m.a, m.gram, m.b);
    polynomial = m.b;
  }
  unwhiten(p, polynomial, y, norm, gamma, u);
  return mo_largest(u, all) >= 0.0f;
}

/* The power of two that brings x0 near 1, so that products of four of its size with four roots
 * stay within float. Denormals are brought as near as a float can: 2^127 is the largest. */
static float comfortable_scale(const float *x0, size_t count)
{
  enum { LARGEST = 120 };
  int exponent = 0;
  frexpf(mo_largest(x0, count), &exponent);
  if (abs(exponent) <= 16) return 1.0f;
  return ldexpf(1.0f, -exponent < LARGEST ? -exponent : LARGEST);
}

void mo_spectral_update(const mo_spectral *p, const float *x0, const float *left_fold,
                        const float *right_fold, double epsilon, float *u, float *work,
                        mo_counts *counts, mo_telemetry *telemetry)
{
  const size_t all = mo_elements(p->shape);
  bool good = true;
  float *scaled = mo_scratch_take(&work, all);
  const float scale = comfortable_scale(x0, all);
  if (scale != 1.0f) {
    mo_copy_scaled(scaled, x0, all, scale);
    x0 = scaled;
    epsilon *= (double)scale;
  }
  if (!p->fused)
    plain_update(p, x0, left_fold, right_fold, epsilon, u, work, telemetry);
  else if (wide(p->shape))
    good = fused_update(p, x0, left_fold, right_fold, epsilon, u, work, telemetry);
  else
    good = fused_update(p, x0, right_fold, left_fold, epsilon, u, work, telemetry);
  if (good) return;
  counts->fallbacks++;
  as_muon(p, x0, epsilon, u, work);
}

void mo_spectral_step(const mo_update *u, const float *direction, double lr,
                      double weight_decay, double shape_rule)
{
  const size_t all = mo_elements(u->shape);
  const double scale = mo_shape_scale(shape_rule, u->shape);
  mo_apply(u->value, direction, all, 1.0 - lr * weight_decay, lr * scale);
  if (u->telemetry != NULL)
    mo_note(u->telemetry, MO_UPDATE_RMS,
            scale * sqrt(mo_sum_squares(direction, all) / (double)all));
}
