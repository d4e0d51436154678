/* lanczos.c - the spectrum of a symmetric matrix in outline. */
#include "linalg/lanczos.h"

#include "linalg/vector.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* T: its diagonal, what stands beside it, and the first elements of its eigenvectors. */
typedef struct tridiagonal {
  size_t n;
  double diagonal[MO_LANCZOS_STEPS], beside[MO_LANCZOS_STEPS], first[MO_LANCZOS_STEPS];
} tridiagonal;

/* Signs without a pattern, 1 / sqrt(n) long each. */
static void start_vector(size_t n, float *v)
{
  const float size = (float)(1.0 / sqrt((double)n));
  uint64_t state = 0x9e3779b97f4a7c15u;
  for (size_t i = 0; i < n; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    v[i] = (state >> 63) != 0 ? size : -size;
  }
}

/* w <- (A v - alpha v - beta before) / its norm. Ends early when nothing is left of it. */
static bool iterate(size_t n, mo_product_with multiply, const void *matrix, float *work,
                    tridiagonal *t)
{
  float *before = work, *v = work + n, *w = work + 2 * n;
  double beta = 0.0, size = 0.0;
  memset(before, 0, n * sizeof *before);
  start_vector(n, v);
  for (t->n = 0; t->n < MO_LANCZOS_STEPS && t->n < n;) {
    multiply(matrix, v, w);
    const double alpha = mo_dot(w, v, n);
    if (!isfinite(alpha)) return false;
    mo_subtract(w, v, n, (float)alpha);
    mo_subtract(w, before, n, (float)beta);
    beta = sqrt(mo_sum_squares(w, n));
    size = fmax(size, fabs(alpha) + beta);
    t->diagonal[t->n] = alpha;
    t->beside[t->n++] = beta;
    if (!(beta > 1e-6 * size)) break;
    mo_scale(w, n, (float)(1.0 / beta));
    float *next = before;
    before = v, v = w, w = next;
  }
  return size > 0.0 && isfinite(beta);
}

/* One sweep of QL with a shift over rows `low` to `high`: rotations from the bottom up, which
 * are applied to the first row of the eigenvectors as well. */
static void sweep(tridiagonal *t, size_t low, size_t high)
{
  double *d = t->diagonal, *e = t->beside, *z = t->first;
  const double slope = (d[low + 1] - d[low]) / (2.0 * e[low]);
  double g = d[high] - d[low] + e[low] / (slope + copysign(hypot(slope, 1.0), slope));
  double sine = 1.0, cosine = 1.0, shift = 0.0;
  for (size_t i = high; i-- > low;) {
    const double f = sine * e[i], b = cosine * e[i], length = hypot(f, g);
    e[i + 1] = length;
    if (length == 0.0) {
      d[i + 1] -= shift;
      e[high] = 0.0;
      return;
    }
    sine = f / length;
    cosine = g / length;
    const double rest = d[i + 1] - shift;
    const double turn = (d[i] - rest) * sine + 2.0 * cosine * b;
    shift = sine * turn;
    d[i + 1] = rest + shift;
    g = cosine * turn - b;
    const double upper = z[i];
    z[i] = cosine * upper - sine * z[i + 1];
    z[i + 1] = sine * upper + cosine * z[i + 1];
  }
  d[low] -= shift;
  e[low] = g;
  e[high] = 0.0;
}

/* The eigenvalues, on the diagonal, and their eigenvectors' first elements. */
static void diagonalise(tridiagonal *t)
{
  enum { MOST_SWEEPS = 50 };
  memset(t->first, 0, sizeof t->first);
  t->first[0] = 1.0;
  t->beside[t->n - 1] = 0.0;
  for (size_t low = 0; low < t->n; low++)
    for (int sweeps = 0; sweeps < MOST_SWEEPS; sweeps++) {
      size_t high = low;
      while (high + 1 < t->n && fabs(t->beside[high]) > 1e-15 * (fabs(t->diagonal[high]) +
                                                                 fabs(t->diagonal[high + 1])))
        high++;
      if (high == low) break;
      sweep(t, low, high);
    }
}

typedef struct quadrature_node {
  double value, weight;
} quadrature_node;

static int by_value(const void *a, const void *b)
{
  const double x = ((const quadrature_node *)a)->value, y = ((const quadrature_node *)b)->value;
  return (x > y) - (x < y);
}

/* The value below which a share of the weight lies. */
static double quantile(const quadrature_node *nodes, size_t n, double share)
{
  double sum = 0.0;
  size_t i = 0;
  while (i + 1 < n && (sum += nodes[i].weight) < share) i++;
  return nodes[i].value;
}

bool mo_lanczos(size_t n, mo_product_with multiply, const void *matrix, float *work,
                mo_outline *outline)
{
  tridiagonal t = {.n = 0};
  quadrature_node nodes[MO_LANCZOS_STEPS];
  double mean = 0.0, squares = 0.0;
  if (n == 0 || !iterate(n, multiply, matrix, work, &t)) return false;
  diagonalise(&t);
  for (size_t i = 0; i < t.n; i++) {
    nodes[i] = (quadrature_node){t.diagonal[i], t.first[i] * t.first[i]};
    mean += nodes[i].weight * nodes[i].value;
    squares += nodes[i].weight * nodes[i].value * nodes[i].value;
  }
  qsort(nodes, t.n, sizeof *nodes, by_value);
  *outline = (mo_outline){.lowest = nodes[0].value,
                          .highest = nodes[t.n - 1].value,
                          .q10 = quantile(nodes, t.n, 0.1),
                          .q50 = quantile(nodes, t.n, 0.5),
                          .q90 = quantile(nodes, t.n, 0.9),
                          .effective_rank = (double)n * mean * mean / squares,
                          .rms = sqrt(squares / (double)n)};
  return squares > 0.0;
}
