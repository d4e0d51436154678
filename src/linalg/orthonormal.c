/* orthonormal.c - QR factorization by Householder reflections, in products of matrices.
 *
 * With rows as vectors: a panel of b rows gives b reflections H_i = I - tau_i v_i^T v_i (v_i a
 * row), whose product is H_1 ... H_b = I - V^T T V with V the b rows v_i and T upper triangular
 * b x b. Rows C that follow become C (I - V^T T V). When all panels are done, the rows of the
 * basis are those of I ... (I - V_2^T T_2^T V_2) (I - V_1^T T_1^T V_1), from the last panel to
 * the first; each touches only rows and columns from its own first one on.
 *
 * LAPACK's geqrf and orgqr do the same at half the speed of a matrix product: they also keep R,
 * which nobody asks for here, in the zeros of V, and so work around it in every product.
 */
#include "linalg/orthonormal.h"

#include "linalg/blas.h"
#include "linalg/vector.h"

#include <math.h>
#include <string.h>

/* Rows of a panel, and of the part of it that is done row by row. */
enum { PANEL = 96, LEAF = 8, LONG = 2048 };

/* Twice as many for long sides, where products with few rows wait for memory. */
static size_t panel_rows(size_t n)
{
  const size_t rows = n < LONG ? PANEL : 2 * PANEL;
  return n < rows ? n : rows;
}

/* What one panel works on: its rows from their own first column on, and its T. */
typedef struct panel {
  float *rows; /* becomes V */
  size_t count, length, stride;
  float *triangle; /* T, count x count, triangle_stride apart, with zeros below */
  size_t triangle_stride;
} panel;

/* Turns the row x (length long) into the v of the reflection that takes it to a multiple of the
 * first unit vector, v[0] = 1, and returns its tau. In double, so that neither tiny nor huge
 * rows leave the range of float on the way. */
static double reflection(float *x, size_t length)
{
  const double first = (double)x[0], rest = mo_sum_squares(x + 1, length - 1);
  x[0] = 1.0f;
  if (rest == 0.0) return 0.0; /* it is one already: the identity serves */
  const double norm = sqrt(first * first + rest);
  const double target = first > 0.0 ? -norm : norm, scale = 1.0 / (first - target);
  for (size_t i = 1; i < length; i++) x[i] = (float)((double)x[i] * scale);
  return (target - first) / target;
}

/* Row by row: reflection i, its column of T, and the rows after it. */
static void factor_leaf(const panel *p)
{
  for (size_t i = 0; i < p->count; i++) {
    float *v = p->rows + i * p->stride + i;
    const size_t length = p->length - i;
    const float tau = (float)reflection(v, length);
    memset(v - i, 0, i * sizeof *v);
    for (size_t k = i + 1; k < p->count; k++) {
      float *row = p->rows + k * p->stride + i;
      mo_subtract(row, v, length, tau * (float)mo_dot(row, v, length));
    }
    float dots[LEAF];
    for (size_t k = 0; k < i; k++)
      dots[k] = (float)mo_dot(p->rows + k * p->stride + i, v, length);
    for (size_t k = 0; k < p->count; k++) {
      float sum = 0.0f;
      /* cppcheck-suppress uninitvar - dots of 0 .. i - 1 were just written */
      for (size_t l = k; l < i; l++) sum += p->triangle[k * p->triangle_stride + l] * dots[l];
      p->triangle[k * p->triangle_stride + i] = k < i ? -tau * sum : k == i ? tau : 0.0f;
    }
  }
}

/* c (rows x p->length) <- c (I - V^T T V), or with T^T. half and turned are rows x count. */
static void reflect(const panel *p, mo_transpose transpose_t, size_t rows, float *c,
                    size_t c_stride, float *half, float *turned)
{
  const size_t b = p->count;
  mo_gemm(MO_PLAIN, MO_TRANSPOSED, rows, b, p->length, 1.0f, c, c_stride, p->rows, p->stride,
          0.0f, half, b);
  mo_gemm(MO_PLAIN, transpose_t, rows, b, b, 1.0f, half, b, p->triangle, p->triangle_stride,
          0.0f, turned, b);
  mo_gemm(MO_PLAIN, MO_PLAIN, rows, p->length, b, -1.0f, turned, b, p->rows, p->stride, 1.0f, c,
          c_stride);
}

/* T of both halves together: above the diagonal -T_1 (V_1 V_2^T) T_2. */
static void join(const panel *p, const panel *top, const panel *bottom, float *half,
                 float *turned)
{
  const size_t a = top->count, b = bottom->count, stride = p->triangle_stride;
  mo_gemm(MO_PLAIN, MO_TRANSPOSED, a, b, bottom->length, 1.0f, top->rows + a, p->stride,
          bottom->rows, p->stride, 0.0f, half, b);
  mo_gemm(MO_PLAIN, MO_PLAIN, a, b, a, -1.0f, top->triangle, stride, half, b, 0.0f, turned, b);
  mo_gemm(MO_PLAIN, MO_PLAIN, a, b, b, 1.0f, turned, b, bottom->triangle, stride, 0.0f,
          top->triangle + a, stride);
  for (size_t i = 0; i < b; i++) memset(p->triangle + (a + i) * stride, 0, a * sizeof(float));
}

/* The upper half of the rows, what they do to the lower half, the lower half. */
static void factor_panel(const panel *p, float *half, float *turned)
{
  if (p->count <= LEAF) {
    factor_leaf(p);
    return;
  }
  panel top = *p, bottom = *p;
  top.count = p->count / 2;
  bottom.count = p->count - top.count;
  bottom.length = p->length - top.count;
  bottom.rows = p->rows + top.count * p->stride + top.count;
  bottom.triangle = p->triangle + top.count * p->triangle_stride + top.count;
  float *after = bottom.rows - top.count;
  factor_panel(&top, half, turned);
  reflect(&top, MO_PLAIN, bottom.count, after, p->stride, half, turned);
  factor_panel(&bottom, half, turned);
  for (size_t i = 0; i < bottom.count; i++)
    memset(after + i * p->stride, 0, top.count * sizeof(float));
  join(p, &top, &bottom, half, turned);
}

/* The rows of the basis from this panel on, once those after it are there. V is in p->rows, a
 * copy; rows x length is the part of the matrix that it acts on. */
static void expand(const panel *p, float *matrix, size_t stride, float *half, float *turned)
{
  const size_t b = p->count, after = p->length - b;
  float *below = matrix + b * stride; /* its first b columns are 0, whatever is stored */
  mo_gemm(MO_PLAIN, MO_TRANSPOSED, after, b, after, 1.0f, below + b, stride, p->rows + b,
          p->stride, 0.0f, half, b);
  mo_gemm(MO_PLAIN, MO_TRANSPOSED, after, b, b, 1.0f, half, b, p->triangle, p->triangle_stride,
          0.0f, turned, b);
  mo_gemm(MO_PLAIN, MO_PLAIN, after, b, b, -1.0f, turned, b, p->rows, p->stride, 0.0f, below,
          stride);
  mo_gemm(MO_PLAIN, MO_PLAIN, after, after, b, -1.0f, turned, b, p->rows + b, p->stride, 1.0f,
          below + b, stride);
  /* The panel's own rows are still those of the identity. */
  mo_gemm(MO_TRANSPOSED, MO_TRANSPOSED, b, b, b, 1.0f, p->rows, p->stride, p->triangle,
          p->triangle_stride, 0.0f, turned, b);
  mo_gemm(MO_PLAIN, MO_PLAIN, b, p->length, b, -1.0f, turned, b, p->rows, p->stride, 0.0f,
          matrix, stride);
  for (size_t i = 0; i < b; i++) matrix[i * stride + i] += 1.0f;
}

/* Every panel's T; one panel's V; two products of rows and V. */
size_t mo_orthonormal_work_floats(size_t n)
{
  return 4 * n * panel_rows(n);
}

bool mo_orthonormal_rows(size_t n, float *a, float *work)
{
  if (mo_largest(a, n * n) < 0.0f) return false;
  const size_t b = panel_rows(n), panels = (n + b - 1) / b;
  float *triangles = work, *copy = triangles + n * b, *half = copy + n * b;
  float *turned = half + n * b;
  for (size_t at = 0; at < panels; at++) {
    const size_t start = at * b, count = n - start < b ? n - start : b;
    const panel p = {a + start * n + start, count, n - start, n, triangles + start * b, count};
    factor_panel(&p, half, turned);
    reflect(&p, MO_PLAIN, p.length - count, p.rows + count * n, n, half, turned);
  }
  for (size_t at = panels; at-- > 0;) {
    const size_t start = at * b, count = n - start < b ? n - start : b, length = n - start;
    float *matrix = a + start * n + start;
    for (size_t i = 0; i < count; i++)
      memcpy(copy + i * length, matrix + i * n, length * sizeof *copy);
    const panel p = {copy, count, length, length, triangles + start * b, count};
    expand(&p, matrix, n, half, turned);
  }
  return mo_largest(a, n * n) >= 0.0f;
}
