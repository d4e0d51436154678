/* definite.c - sums of inverses of symmetric positive definite matrices.
 *
 * Both the factorization and the inversion of the factor go by halves
 *
 *     A = [A11     ]   L11 = chol(A11)          W = [ W11             ]
 *         [A21  A22]   L21 = A21 L11^-T             [-W22 L21 W11  W22]
 *                      L22 = chol(A22 - L21 L21^T)
 *
 * down to blocks that are LAPACK's, which is slow with larger ones. L21 comes from solving, not
 * from a product with W11, which would lose half of the digits where A11 is nearly singular.
 */
#include "linalg/definite.h"

#include "base/team.h"
#include "linalg/blas.h"
#include "linalg/lapack.h"
#include "linalg/vector.h"

#include <math.h>
#include <string.h>

enum {
  LEAF = 64,
  BLOCK = 6 * LEAF,
  LONG = 1024,
  MOST_BANDS = 32
}; /* larger ones waste operations in products, smaller ones cost calls */

/* A whole number of leaves, so that a leaf is at the same place for every function here. */
static size_t half_of(size_t n)
{
  return (n / 2 + LEAF - 1) / LEAF * LEAF;
}

static bool factor(size_t n, float *a, size_t stride)
{
  if (n <= LEAF) return mo_cholesky(n, a, stride);
  const size_t half = half_of(n), rest = n - half;
  float *low = a + half * stride;
  if (!factor(half, a, stride)) return false;
  mo_solve_lower(rest, half, a, stride, low, stride);
  mo_syrk(MO_LOWER, MO_PLAIN, rest, half, -1.0f, low, stride, 1.0f, low + half, stride);
  return factor(rest, low + half, stride);
}

/* L becomes its inverse, with zeros above the diagonal of a leaf. */
static void invert(size_t n, float *l, size_t stride)
{
  if (n <= LEAF) {
    mo_invert_lower(n, l, stride);
    for (size_t i = 0; i < n; i++) memset(l + i * stride + i + 1, 0, (n - i - 1) * sizeof *l);
    return;
  }
  const size_t half = half_of(n), rest = n - half;
  float *low = l + half * stride;
  invert(half, l, stride);
  invert(rest, low + half, stride);
  mo_lower_times(rest, half, -1.0f, low + half, stride, low, stride);
  mo_times_lower(rest, half, l, stride, low, stride);
}

typedef struct magnitude_scan {
  size_t n, band;
  const float *a;
  size_t stride;
  float largest[MOST_BANDS]; /* of each band of rows; INFINITY when one is not finite */
} magnitude_scan;

static void look_at_band(void *context, size_t part, int thread)
{
  magnitude_scan *t = context;
  const size_t first = part * t->band, end = first + t->band;
  float largest = 0.0f;
  (void)thread;
  for (size_t i = first; i < end && i < t->n; i++) {
    const float row = mo_largest(t->a + i * t->stride, i + 1);
    largest = fmaxf(largest, row < 0.0f ? INFINITY : row);
  }
  t->largest[part] = largest;
}

/* Largest magnitude in the lower triangle, INFINITY when one is not finite. */
static float largest_below(size_t n, const float *a, size_t stride)
{
  magnitude_scan t = {n, mo_definite_band(n), a, stride, {0}};
  float largest = 0.0f;
  mo_team_divide((n + t.band - 1) / t.band, look_at_band, &t);
  for (size_t i = 0; i < MOST_BANDS; i++) largest = fmaxf(largest, t.largest[i]);
  return largest;
}

size_t mo_definite_band(size_t n)
{
  const size_t even = (n + MOST_BANDS - 1) / MOST_BANDS;
  return even > LEAF ? even : LEAF;
}

bool mo_definite_invert_factor(size_t n, float *a, size_t stride)
{
  if (isinf(largest_below(n, a, stride)) || !factor(n, a, stride)) return false;
  invert(n, a, stride);
  return largest_below(n, a, stride) < 1e17f; /* W^T W is to be finite, too */
}

/* C += alpha X^T W for a lower triangular n x n matrix W with zeros in its leaves; X is n x
 * rows and C rows x n. */
static void add_product(size_t rows, size_t n, float alpha, const float *x, const float *w,
                        size_t stride, float *c, size_t c_stride)
{
  if (n <= LEAF) {
    mo_gemm(MO_TRANSPOSED, MO_PLAIN, rows, n, n, alpha, x, stride, w, stride, 1.0f, c,
            c_stride);
    return;
  }
  const size_t half = half_of(n), rest = n - half;
  const float *low = w + half * stride, *x_low = x + half * stride;
  mo_gemm(MO_TRANSPOSED, MO_PLAIN, rows, half, rest, alpha, x_low, stride, low, stride, 1.0f, c,
          c_stride);
  add_product(rows, half, alpha, x, w, stride, c, c_stride);
  add_product(rows, rest, alpha, x_low, low + half, stride, c + half, c_stride);
}

static void add_inverse(size_t n, float weight, const float *w, size_t stride, float *sum,
                        size_t sum_stride)
{
  if (n <= LEAF) {
    mo_syrk(MO_UPPER, MO_TRANSPOSED, n, n, weight, w, stride, 1.0f, sum, sum_stride);
    return;
  }
  const size_t half = half_of(n), rest = n - half;
  const float *low = w + half * stride;
  add_inverse(half, weight, w, stride, sum, sum_stride);
  mo_syrk(MO_UPPER, MO_TRANSPOSED, half, rest, weight, low, stride, 1.0f, sum, sum_stride);
  add_product(half, rest, weight, low, low + half, stride, sum + half, sum_stride);
  add_inverse(rest, weight, low + half, stride, sum + half * (sum_stride + 1), sum_stride);
}

/* The same in blocks of the sum, for long sides: none waits for another. */
typedef struct inverse {
  size_t n;
  float weight;
  const float *w;
  float *sum;
  size_t stride, sum_stride;
} inverse;

static void add_block(void *context, size_t part, int thread)
{
  const inverse *s = context;
  size_t column = 0;
  (void)thread;
  while (part > column) part -= ++column;
  const size_t row = part * BLOCK, col = column * BLOCK;
  const size_t cols = s->n - col < BLOCK ? s->n - col : BLOCK, below = col + cols;
  const float *w = s->w + col * s->stride, *w_below = s->w + below * s->stride;
  float *sum = s->sum + row * s->sum_stride + col;
  if (row == col) {
    add_inverse(cols, s->weight, w + col, s->stride, sum, s->sum_stride);
    mo_syrk(MO_UPPER, MO_TRANSPOSED, cols, s->n - below, s->weight, w_below + col, s->stride,
            1.0f, sum, s->sum_stride);
  } else {
    add_product(BLOCK, cols, s->weight, w + row, w + col, s->stride, sum, s->sum_stride);
    mo_gemm(MO_TRANSPOSED, MO_PLAIN, BLOCK, cols, s->n - below, s->weight, w_below + row,
            s->stride, w_below + col, s->stride, 1.0f, sum, s->sum_stride);
  }
}

void mo_definite_add_inverse(size_t n, float weight, const float *w, size_t stride, float *sum,
                             size_t sum_stride)
{
  const size_t blocks = (n + BLOCK - 1) / BLOCK;
  inverse s = {n, weight, w, sum, stride, sum_stride};
  if (n < LONG || !mo_team_inside())
    add_inverse(n, weight, w, stride, sum, sum_stride);
  else
    mo_team_divide(blocks * (blocks + 1) / 2, add_block, &s);
}
