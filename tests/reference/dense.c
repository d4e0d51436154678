/* dense.c - small dense matrices in double, by plain loops. */
#include "reference/dense.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SWEEPS = 100 };

double *ref_zeros(size_t count)
{
  double *values = calloc(count > 0 ? count : 1, sizeof *values);
  if (values == NULL) abort();
  return values;
}

double *ref_copy(const double *values, size_t count)
{
  double *copy = ref_zeros(count);
  memcpy(copy, values, count * sizeof *copy);
  return copy;
}

double ref_norm(const double *values, size_t count)
{
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += values[i] * values[i];
  return sqrt(sum);
}

void ref_scale(double *values, size_t count, double by)
{
  for (size_t i = 0; i < count; i++) values[i] *= by;
}

void ref_multiply(size_t m, size_t k, size_t n, const double *a, const double *b, double *out)
{
  memset(out, 0, m * n * sizeof *out);
  for (size_t i = 0; i < m; i++)
    for (size_t l = 0; l < k; l++)
      for (size_t j = 0; j < n; j++) out[i * n + j] += a[i * k + l] * b[l * n + j];
}

void ref_transpose(size_t m, size_t n, const double *a, double *out)
{
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++) out[j * m + i] = a[i * n + j];
}

void ref_average_left(size_t m, size_t n, const double *g, double beta, double *s)
{
  double *transposed = ref_zeros(m * n), *product = ref_zeros(m * m);
  ref_transpose(m, n, g, transposed);
  ref_multiply(m, n, m, g, transposed, product);
  for (size_t i = 0; i < m * m; i++) s[i] = beta * s[i] + (1 - beta) * product[i];
  free(product);
  free(transposed);
}

void ref_average_right(size_t m, size_t n, const double *g, double beta, double *s)
{
  double *transposed = ref_zeros(m * n);
  ref_transpose(m, n, g, transposed);
  ref_average_left(n, m, transposed, beta, s);
  free(transposed);
}

/* Cosine and sine of the Jacobi rotation that makes the off-diagonal element pq zero. */
static void rotation(double pp, double pq, double qq, double *cosine, double *sine)
{
  const double theta = (qq - pp) / (2 * pq);
  const double tangent = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
  *cosine = 1 / sqrt(tangent * tangent + 1);
  *sine = tangent * *cosine;
}

/* (x, y) <- (c x - s y, s x + c y) for `count` pairs that lie `stride` apart. */
static void rotate(double *x, double *y, size_t count, size_t stride, double c, double s)
{
  for (size_t i = 0; i < count; i++) {
    const double a = x[i * stride], b = y[i * stride];
    x[i * stride] = c * a - s * b;
    y[i * stride] = s * a + c * b;
  }
}

static void swap(double *a, double *b)
{
  const double kept = *a;
  *a = *b;
  *b = kept;
}

static void sort_ascending(size_t n, double *values, double *vectors)
{
  for (size_t i = 0; i < n; i++) {
    size_t least = i;
    for (size_t j = i + 1; j < n; j++)
      if (values[j] < values[least]) least = j;
    if (least == i) continue;
    swap(&values[i], &values[least]);
    for (size_t k = 0; k < n; k++) swap(&vectors[k * n + i], &vectors[k * n + least]);
  }
}

void ref_eigh(size_t n, const double *a, double *values, double *vectors)
{
  double *s = ref_copy(a, n * n), *rows = ref_zeros(n * n); /* rows: V^T */
  const double small = DBL_EPSILON / 16 * ref_norm(a, n * n);
  for (size_t i = 0; i < n; i++) rows[i * n + i] = 1;
  int rotated = 1;
  for (int sweep = 0; sweep < MAX_SWEEPS && rotated; sweep++) {
    rotated = 0;
    for (size_t p = 0; p < n; p++)
      for (size_t q = p + 1; q < n; q++) {
        if (fabs(s[p * n + q]) <= small) continue;
        double cosine, sine;
        rotation(s[p * n + p], s[p * n + q], s[q * n + q], &cosine, &sine);
        rotate(s + p, s + q, n, n, cosine, sine);         /* columns p and q */
        rotate(s + p * n, s + q * n, n, 1, cosine, sine); /* rows p and q */
        rotate(rows + p * n, rows + q * n, n, 1, cosine, sine);
        rotated = 1;
      }
  }
  for (size_t i = 0; i < n; i++) values[i] = s[i * n + i];
  ref_transpose(n, n, rows, vectors);
  sort_ascending(n, values, vectors);
  free(rows);
  free(s);
}

/* Applies I - 2 v v^T from the left to r; v is zero before row `first`. */
static void reflect(size_t n, size_t first, const double *v, double *r)
{
  for (size_t j = 0; j < n; j++) {
    double dot = 0;
    for (size_t i = first; i < n; i++) dot += v[i] * r[i * n + j];
    for (size_t i = first; i < n; i++) r[i * n + j] -= 2 * dot * v[i];
  }
}

void ref_qr(size_t n, const double *a, double *q)
{
  double *r = ref_copy(a, n * n), *v = ref_zeros(n), *reflections = ref_zeros(n * n);
  double largest = 0; /* squares of tiny numbers are 0, and Q has no scale */
  for (size_t i = 0; i < n * n; i++) largest = fmax(largest, fabs(a[i]));
  if (largest > 0) ref_scale(r, n * n, 1 / largest);
  for (size_t i = 0; i < n; i++) reflections[i * n + i] = 1;
  for (size_t k = 0; k + 1 < n; k++) {
    double norm = 0;
    for (size_t i = k; i < n; i++) norm = hypot(norm, r[i * n + k]);
    if (norm == 0) continue;
    for (size_t i = k; i < n; i++) v[i] = r[i * n + k];
    v[k] += v[k] >= 0 ? norm : -norm;
    ref_scale(v + k, n - k, 1 / ref_norm(v + k, n - k));
    reflect(n, k, v, r);
    reflect(n, k, v, reflections);
  }
  ref_transpose(n, n, reflections, q);
  free(reflections);
  free(v);
  free(r);
}

/* One sweep of one-sided Jacobi over the rows of u (m x n): makes them orthogonal, and applies
 * the same rotations to the rows of v (m x m). Returns whether anything moved. */
static int orthogonalise_rows(size_t m, size_t n, double *u, double *v)
{
  int rotated = 0;
  for (size_t p = 0; p < m; p++)
    for (size_t q = p + 1; q < m; q++) {
      double pp = 0, pq = 0, qq = 0;
      for (size_t j = 0; j < n; j++) {
        pp += u[p * n + j] * u[p * n + j];
        pq += u[p * n + j] * u[q * n + j];
        qq += u[q * n + j] * u[q * n + j];
      }
      if (fabs(pq) <= 4 * DBL_EPSILON * sqrt(pp * qq)) continue;
      double cosine, sine;
      rotation(pp, pq, qq, &cosine, &sine);
      rotate(u + p * n, u + q * n, n, 1, cosine, sine);
      rotate(v + p * m, v + q * m, m, 1, cosine, sine);
      rotated = 1;
    }
  return rotated;
}

static void polar_of_wide(size_t m, size_t n, const double *a, double relative, double *out)
{
  double *u = ref_copy(a, m * n), *v = ref_zeros(m * m), *transposed = ref_zeros(m * m);
  double largest = 0;
  for (size_t i = 0; i < m; i++) v[i * m + i] = 1;
  for (int sweep = 0; sweep < MAX_SWEEPS; sweep++)
    if (!orthogonalise_rows(m, n, u, v)) break;
  /* rows of u are now singular value times direction */
  for (size_t i = 0; i < m; i++) largest = fmax(largest, ref_norm(u + i * n, n));
  for (size_t i = 0; i < m; i++) {
    const double singular = ref_norm(u + i * n, n);
    ref_scale(u + i * n, n, singular > relative * largest ? 1 / singular : 0);
  }
  ref_transpose(m, m, v, transposed);
  ref_multiply(m, m, n, transposed, u, out);
  free(transposed);
  free(v);
  free(u);
}

void ref_polar(size_t m, size_t n, const double *a, double relative, double *out)
{
  if (m <= n) {
    polar_of_wide(m, n, a, relative, out);
    return;
  }
  double *wide = ref_zeros(m * n), *factor = ref_zeros(m * n);
  ref_transpose(m, n, a, wide);
  polar_of_wide(n, m, wide, relative, factor);
  ref_transpose(n, m, factor, out);
  free(factor);
  free(wide);
}
