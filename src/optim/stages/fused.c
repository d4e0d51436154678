/* fused.c - whiten, orthogonalise and unwhiten in one. */
#include "optim/stages/fused.h"

#include "linalg/blas.h"
#include "linalg/vector.h"

#include <math.h>
#include <string.h>

static mo_side short_side(const mo_fused *f)
{
  return mo_is_wide(f->shape) ? f->left : f->right;
}

static mo_side long_side(const mo_fused *f)
{
  return mo_is_wide(f->shape) ? f->right : f->left;
}

/* Of a polynomial; the exact factor costs about as much as 20 of them. */
static double iterations(const mo_fused *f)
{
  return f->set == MO_EXACT ? 20.0 : (double)mo_newton_schulz_iterations(f->set);
}

/* In products of s x s x l (s the short, l the long side), each counted as 2 s s l flops;
 * symmetric ones cost about 0.6. */
double mo_plain_flops(const mo_fused *f, bool outer)
{
  const double s = (double)mo_shorter(f->shape), l = (double)mo_longer(f->shape);
  const double whiten = 2 * s * l * (double)(f->left.block + f->right.block);
  const double iteration = 0.6 * 2 * s * s * l + 0.6 * 2 * s * s * s + 2 * s * s * l;
  return (outer ? 2.0 : 1.0) * whiten + iterations(f) * iteration;
}

double mo_fused_flops(const mo_fused *f)
{
  const double s = (double)mo_shorter(f->shape), l = (double)mo_longer(f->shape);
  const double whiten = 2 * s * l * (double)long_side(f).block;
  const double roots = 3.3 * 2 * s * s * (double)short_side(f).block;
  const double gram = (long_side(f).size > 0 ? 1.0 : 0.6) * 2 * s * s * l;
  const double small = (4 * iterations(f) - 2) * 0.6 * 2 * s * s * s;
  return whiten + roots + gram + small + 2 * s * s * l;
}

/* Small matrices cost little either way, and the plain form stands more: it does not square
 * the condition number, which with gradients of rank 1 is beyond float. */
bool mo_fused_pays(const mo_fused *f)
{
  enum { SMALL = 128 };
  return f->set != MO_EXACT && mo_shorter(f->shape) > SMALL &&
         mo_fused_flops(f) < mo_plain_flops(f, true);
}

size_t mo_fused_work_floats(const mo_fused *f)
{
  const size_t n = mo_shorter(f->shape);
  return 4 * mo_scratch_floats(n * n);
}

void mo_note_residual(mo_telemetry *telemetry, size_t n, const float *m)
{
  const double sum = mo_sum_squares(m, n * n) - 2.0 * mo_trace(m, n) + (double)n;
  mo_note(telemetry, MO_NS_RESIDUAL, sqrt(fmax(sum, 0.0) / (double)n));
}

/* c = short x short: y x0^T (wide) or x0^T y (tall), known to be symmetric. */
static void short_gram(mo_shape shape, const float *x0, const float *y, float *c)
{
  const size_t n = mo_shorter(shape), k = mo_longer(shape), cols = shape.cols;
  if (y == x0) {
    mo_syrk(MO_LOWER, mo_is_wide(shape) ? MO_PLAIN : MO_TRANSPOSED, n, k, 1.0f, x0, cols, 0.0f,
            c, n);
    mo_mirror(n, c, n);
  } else if (mo_is_wide(shape)) {
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

/* u = (polynomial Y) / norm on the short side. */
static void unwhiten(mo_shape shape, const float *polynomial, const float *y, double norm,
                     float *u)
{
  const size_t n = mo_shorter(shape), cols = shape.cols;
  const float scale = (float)(1.0 / norm);
  if (mo_is_wide(shape))
    mo_gemm(MO_PLAIN, MO_PLAIN, n, cols, n, scale, polynomial, n, y, cols, 0.0f, u, cols);
  else
    mo_gemm(MO_PLAIN, MO_PLAIN, shape.rows, n, n, scale, y, cols, polynomial, n, 0.0f, u, cols);
}

/* Both factors of u out of the basis: the polynomial into `turned`, x0 into y where the long side
 * has one. What they are is left in *polynomial and *product. */
static void leave_basis(const mo_fused *f, const float *x0, float *y, float *turned,
                        const float **polynomial, const float **product)
{
  const mo_eigenbasis *b = f->basis;
  const size_t n = mo_shorter(f->shape);
  const bool wide = mo_is_wide(f->shape);
  if ((wide ? b->right : b->left).size > 0) {
    (wide ? mo_eigenbasis_rotate_right : mo_eigenbasis_rotate_left)(b, MO_TRANSPOSED, x0, y);
    *product = y;
  }
  if ((wide ? b->left : b->right).size == 0) return;
  if (wide)
    mo_gemm(MO_TRANSPOSED, MO_PLAIN, n, n, n, 1.0f, b->left_basis, n, *polynomial, n, 0.0f,
            turned, n);
  else
    mo_gemm(MO_PLAIN, MO_PLAIN, n, n, n, 1.0f, *polynomial, n, b->right_basis, n, 0.0f, turned,
            n);
  *polynomial = turned;
}

/* What X is divided by: its Frobenius norm is the root of the trace of its Gram matrix, its
 * Schatten 4-norm the fourth root of the sum of that matrix's squares. */
static double divisor(const mo_fused *f, size_t n, const float *gram, double epsilon)
{
  const double squared = f->schatten4 ? sqrt(mo_sum_squares(gram, n * n)) : mo_trace(gram, n);
  return squared > 0.0 ? mo_newton_schulz_norm(f->set, sqrt(squared), epsilon) : -1.0;
}

/* The condition number of P Y X0^T P is the square of X's. With extreme options (alpha 0.5 and
 * eps 1e-10 whiten by 1e10) its rounding has eigenvalues far below 0, on which the iteration
 * grows without end; the norm of a good N is below 1.2 sqrt(n). */
static bool plausible(double norm, size_t n)
{
  return norm <= 1.5 * sqrt((double)n);
}

double mo_fused_update(const mo_fused *f, const float *x0, double epsilon, float *u, float *y,
                       float *work, mo_telemetry *telemetry)
{
  const size_t n = mo_shorter(f->shape), all = mo_elements(f->shape);
  const bool wide = mo_is_wide(f->shape);
  const float *short_pair = wide ? f->left_pair : f->right_pair;
  const float *long_pair = wide ? f->right_pair : f->left_pair;
  const bool has_short = short_side(f).size > 0, has_long = long_side(f).size > 0;
  mo_gram_arrays m = {.gram = mo_scratch_take(&work, n * n),
                      .polynomial = mo_scratch_take(&work, n * n),
                      .a = mo_scratch_take(&work, n * n),
                      .b = mo_scratch_take(&work, n * n)};

  if (has_long) mo_side_multiply(long_side(f), f->shape, long_pair, x0, y);
  const float *product = has_long ? y : x0;
  float *raw = has_short ? m.b : m.gram; /* Y X0^T */
  short_gram(f->shape, x0, product, raw);
  if (has_short) sandwich(short_side(f), short_pair, raw, m.a, m.polynomial, m.gram);
  const double norm = divisor(f, n, m.gram, epsilon);
  if (norm <= 0.0) {
    memset(u, 0, all * sizeof *u);
    return mo_sum_squares(x0, all) == 0.0 ? 0.0 : -1.0;
  }
  mo_scale(m.gram, n * n, (float)(1.0 / (norm * norm)));
  const bool roots = has_short || has_long; /* then the norm of u is not that of N */
  const double length = mo_newton_schulz_gram(f->set, n, &m, roots || telemetry != NULL);
  if (roots && !plausible(length, n)) return -1.0;
  if (telemetry != NULL) { /* N N^T */
    mo_symmetric_product(MO_PLAIN, MO_PLAIN, n, n, m.b, n, m.gram, n, m.a);
    mo_note_residual(telemetry, n, m.a);
  }
  if (has_short) sandwich(short_side(f), short_pair, m.polynomial, m.a, m.gram, m.b);
  const float *polynomial = has_short ? m.b : m.polynomial;
  if (f->basis != NULL) leave_basis(f, x0, y, m.a, &polynomial, &product);
  unwhiten(f->shape, polynomial, product, norm, u);
  const double update = sqrt(mo_sum_squares(u, all));
  return !isfinite(update) ? -1.0 : roots ? length : update;
}
