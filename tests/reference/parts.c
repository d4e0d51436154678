/* parts.c - what the references of the spectral family share, by plain loops. */
#include "reference/parts.h"

#include "reference/dense.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void ref_average(size_t count, const double *x, double beta, double *s)
{
  for (size_t i = 0; i < count; i++) s[i] = beta * s[i] + (1 - beta) * x[i];
}

void ref_momentum(size_t count, const double *g, double mu, int nesterov, double *m, double *x)
{
  ref_average(count, g, mu, m);
  for (size_t i = 0; i < count; i++) x[i] = nesterov ? (1 - mu) * g[i] + mu * m[i] : m[i];
}

double ref_dot(size_t count, const double *a, const double *b)
{
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += a[i] * b[i];
  return sum;
}

double ref_trace(size_t n, const double *s)
{
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += s[i * n + i];
  return sum;
}

void ref_identity(size_t n, double *s)
{
  memset(s, 0, n * n * sizeof *s);
  for (size_t i = 0; i < n; i++) s[i * n + i] = 1;
}

void ref_rescale(size_t count, double wanted, double *u)
{
  const double norm = ref_norm(u, count);
  if (norm > 0) ref_scale(u, count, wanted / norm);
}

void ref_power(size_t n, const double *s, double power, double damping, double cut, double *out)
{
  double *values = ref_zeros(n), *vectors = ref_zeros(n * n);
  ref_eigh(n, s, values, vectors);
  ref_power_of(n, values, vectors, power, damping, cut, out);
  free(vectors);
  free(values);
}

void ref_power_of(size_t n, const double *values, const double *vectors, double power,
                  double damping, double cut, double *out)
{
  memset(out, 0, n * n * sizeof *out);
  for (size_t k = 0; k < n; k++) {
    const double value = fmax(values[k], 0) + damping;
    if (value <= cut) continue;
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < n; j++)
        out[i * n + j] += pow(value, power) * vectors[i * n + k] * vectors[j * n + k];
  }
}

static void copy_block(size_t d, const double *from, size_t from_stride, double *to,
                       size_t to_stride)
{
  for (size_t i = 0; i < d; i++)
    memcpy(to + i * to_stride, from + i * from_stride, d * sizeof *to);
}

void ref_by_blocks(const ref_optimizer *r, size_t n, const double *s, ref_root root,
                   double *basis, double *power)
{
  const size_t block = (size_t)ref_number(r, "block", 0);
  for (size_t first = 0, d; first < n; first += d) {
    d = block > 0 && n - first > block ? block : n - first;
    double *part = ref_zeros(d * d), *out = ref_zeros(d * d), *q = ref_zeros(d * d);
    copy_block(d, s + first * n + first, n, part, d);
    copy_block(d, basis + first * n + first, n, q, d);
    root(r, d, part, q, out);
    copy_block(d, q, d, basis + first * n + first, n);
    copy_block(d, out, d, power + first * n + first, n);
    free(q);
    free(out);
    free(part);
  }
}

/* image = s*q; quotients = diag(q^T*s*q) */
static void rayleigh(size_t n, const double *s, const double *q, double *image,
                     double *quotients)
{
  ref_multiply(n, n, n, s, q, image);
  memset(quotients, 0, n * sizeof *quotients);
  for (size_t i = 0; i < n * n; i++) quotients[i % n] += q[i] * image[i];
}

static void move_basis(size_t n, const double *s, double *q)
{
  double *image = ref_zeros(n * n), *sorted = ref_zeros(n * n), *quotients = ref_zeros(n);
  rayleigh(n, s, q, image, quotients);
  for (size_t k = 0; k < n; k++) { /* the largest that is left, the first of equal ones */
    size_t best = 0;
    for (size_t j = 1; j < n; j++)
      if (quotients[j] > quotients[best]) best = j;
    for (size_t i = 0; i < n; i++) sorted[i * n + k] = image[i * n + best];
    quotients[best] = -HUGE_VAL;
  }
  ref_qr(n, sorted, q);
  free(quotients);
  free(sorted);
  free(image);
}

void ref_decompose(const ref_optimizer *r, size_t n, const double *s, double *q, double *values,
                   double *vectors)
{
  static const char *const ways[] = {"auto", "eigh", "qr", "cholesky", NULL};
  const size_t small = r->rows < r->cols ? r->rows : r->cols;
  if (ref_choice(r, "refresh", ways, 0) != 2) {
    ref_eigh(n, s, values, vectors);
    return;
  }
  if (r->t == 1 || r->seen * small < n)
    ref_eigenbasis(n, s, q);
  else
    move_basis(n, s, q);
  double *image = ref_zeros(n * n);
  rayleigh(n, s, q, image, values);
  memcpy(vectors, q, n * n * sizeof *vectors);
  free(image);
}

void ref_sandwich(size_t m, size_t n, const double *left, const double *right, double *x)
{
  double *product = ref_zeros(m * n);
  if (left != NULL) {
    ref_multiply(m, m, n, left, x, product);
    memcpy(x, product, m * n * sizeof *x);
  }
  if (right != NULL) {
    ref_multiply(m, n, n, x, right, product);
    memcpy(x, product, m * n * sizeof *x);
  }
  free(product);
}

static double *transposed(size_t n, const double *q)
{
  if (q == NULL) return NULL;
  double *t = ref_zeros(n * n);
  ref_transpose(n, n, q, t);
  return t;
}

void ref_to_basis(size_t m, size_t n, const double *ql, const double *qr, double *x)
{
  double *left = transposed(m, ql);
  ref_sandwich(m, n, left, qr, x);
  free(left);
}

void ref_from_basis(size_t m, size_t n, const double *ql, const double *qr, double *x)
{
  double *right = transposed(n, qr);
  ref_sandwich(m, n, ql, right, x);
  free(right);
}

/* The columns from `first` on of q: a basis of what the columns before leave, from the axes. */
static void complete(size_t n, size_t first, double *q)
{
  double *rest = ref_zeros(n * n);
  ref_identity(n, rest);
  for (size_t k = 0; k < n; k++) {
    if (k >= first) {
      double most = 0;
      size_t axis = 0;
      for (size_t j = 0; j < n; j++) most = fmax(most, rest[j * n + j]);
      while (rest[axis * n + axis] < most / 2) axis++;
      const double length = sqrt(rest[axis * n + axis]);
      for (size_t i = 0; i < n; i++) q[i * n + k] = rest[i * n + axis] / length;
    }
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < n; j++) rest[i * n + j] -= q[i * n + k] * q[j * n + k];
  }
  free(rest);
}

void ref_eigenbasis(size_t n, const double *s, double *q)
{
  double *values = ref_zeros(n), *vectors = ref_zeros(n * n);
  double *scaled = ref_copy(s, n * n), largest = 0; /* squares of tiny numbers are 0 */
  size_t kept = 0;
  for (size_t i = 0; i < n; i++) largest = fmax(largest, s[i * n + i]);
  if (largest > 0) ref_scale(scaled, n * n, 1 / largest);
  ref_eigh(n, scaled, values, vectors);
  free(scaled);
  for (size_t k = 0; k < n; k++) {
    if (values[n - 1 - k] <= 1e-5 * values[n - 1]) break;
    for (size_t i = 0; i < n; i++) q[i * n + k] = vectors[i * n + n - 1 - k];
    kept++;
  }
  complete(n, kept, q);
  free(vectors);
  free(values);
}

int ref_has_side(const ref_optimizer *r, size_t otherwise, int left)
{
  static const char *const names[] = {"both", "left", "right", "small", NULL};
  const size_t sides = ref_choice(r, "sides", names, otherwise);
  if (sides == REF_SMALL) return left == (r->rows <= r->cols);
  return sides == REF_BOTH || sides == (left ? REF_LEFT : REF_RIGHT);
}

int ref_due(const ref_optimizer *r, double every)
{
  return (r->t - 1) % (uint64_t)ref_number(r, "refresh_every", every) == 0;
}

void ref_equalise(const ref_optimizer *r, int rows, double beta2, double eps, double *v,
                  double *u)
{
  const size_t m = r->rows, n = r->cols, lines = rows ? m : n, length = rows ? n : m;
  const double norm = ref_norm(u, m * n);
  double *mean = ref_zeros(lines);
  for (size_t i = 0; i < m * n; i++) mean[rows ? i / n : i % n] += u[i] * u[i] / (double)length;
  ref_average(lines, mean, beta2, v);
  for (size_t i = 0; i < m * n; i++) {
    const double divisor = sqrt(v[rows ? i / n : i % n]) + eps;
    u[i] = divisor > 0 ? u[i] / divisor : 0;
  }
  ref_rescale(m * n, norm, u);
  free(mean);
}
