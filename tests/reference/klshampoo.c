/* klshampoo.c - KL-Shampoo and KL-SOAP (Lin et al., 2025), in the order of the published program:
 *
 *     t = 1:  L = (1-beta)*G*G^T/n/d, R = (1-beta)*G^T*G/m/d; Q_L, Q_R their eigenvectors, largest
 *             first; every lamL, lamR = the start value. Nothing else happens.
 *     later:
 *     1. klshampoo:  M <- mu*M + (1-mu)*G;  h_ij = (lamL_i*lamR_j)^(-1/2)
 *                    U = Q_L [ (Q_L^T*M*Q_R) o h/(1+eps*h) ] Q_R^T
 *        klsoap:     Z = Q_L^T*G*Q_R;  M <- mu*M + (1-mu)*Z;  v <- beta2*v + (1-beta2)*Z^2
 *                    U = Q_L [ M/(sqrt(v)+eps) ] Q_R^T
 *     2. W <- (W - lr*U)*(1 - lr*weight_decay)
 *     3. with the Q and lam of before, Z = Q_L^T*G*Q_R:
 *        L <- beta*L + (1-beta)*G*Q_R*diag(1/lamR)*Q_R^T*G^T/n;       R likewise
 *        lamL_i <- beta*lamL_i + (1-beta)*mean_j(Z_ij^2/lamR_j);      lamR likewise
 *        lam <- max(lam, floor/c^2),  c = max(10, min(dimension, 4000))
 *     4. when (t-1) mod refresh_every == 0:  Q <- the orthogonal factor of L*Q (klsoap: M is
 *        projected back with the old basis and forth with the new one; v and lam stay).
 *        While s*min(m,n) < the dimension, s counting gradients other than 0, and with refresh = eigh
 *        (of the library's `spectral`) always: the eigenvectors instead, that of the k-th largest
 *        eigenvalue in the place that had the k-th largest quotient diag(Q^T*L*Q); quotients of at
 *        most 1e-5 of the largest are equal, and of equal ones the first place comes first.
 *
 * floors absolute: start .1, d = 1, floor 1, eps as it is. floors relative [default]: start and d
 * are the RMS of the first gradient, floor = mean(lam), eps times the root of the product of both
 * means (klsoap: times the root of mean(v)). While that RMS would be 0 there are no L, R and lam, and
 * 0/0 in U is 0; the first other gradient takes the place of step 3 and 4 with what t = 1 does to
 * L, R, Q and lam.
 * Defaults: lr 1e-4, mu .9, beta .98, beta2 .98, eps 1e-8, weight_decay .01, refresh_every 10.
 */
#include "reference/dense.h"
#include "reference/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST, SECOND, LEFT, RIGHT, BASIS_LEFT, BASIS_RIGHT, VALUES_LEFT, VALUES_RIGHT };

static void layout(const ref_optimizer *r, size_t counts[REF_PARTS])
{
  counts[FIRST] = counts[SECOND] = r->rows * r->cols;
  counts[LEFT] = counts[BASIS_LEFT] = r->rows * r->rows;
  counts[RIGHT] = counts[BASIS_RIGHT] = r->cols * r->cols;
  counts[VALUES_LEFT] = r->rows;
  counts[VALUES_RIGHT] = r->cols;
}

static int relative(const ref_optimizer *r)
{
  static const char *const names[] = {"relative", "absolute", NULL};
  return ref_choice(r, "floors", names, 0) == 0;
}

static double mean(size_t n, const double *values)
{
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += values[i];
  return sum / (double)n;
}

static void start(ref_optimizer *r, const double *g)
{
  const size_t m = r->rows, n = r->cols;
  const double rms = ref_norm(g, m * n) / sqrt((double)(m * n));
  const double first = relative(r) ? rms : 0.1;
  if (first == 0) { /* no statistics, and any basis */
    ref_identity(m, r->part[BASIS_LEFT]);
    ref_identity(n, r->part[BASIS_RIGHT]);
    return;
  }
  ref_average_left(m, n, g, ref_number(r, "beta", 0.98), r->part[LEFT]);
  ref_average_right(m, n, g, ref_number(r, "beta", 0.98), r->part[RIGHT]);
  ref_scale(r->part[LEFT], m * m, 1 / (double)n / (relative(r) ? first : 1));
  ref_scale(r->part[RIGHT], n * n, 1 / (double)m / (relative(r) ? first : 1));
  ref_eigenbasis(m, r->part[LEFT], r->part[BASIS_LEFT]);
  ref_eigenbasis(n, r->part[RIGHT], r->part[BASIS_RIGHT]);
  for (size_t i = 0; i < m; i++) r->part[VALUES_LEFT][i] = first;
  for (size_t j = 0; j < n; j++) r->part[VALUES_RIGHT][j] = first;
}

static void to_basis(const ref_optimizer *r, double *x)
{
  ref_to_basis(r->rows, r->cols, r->part[BASIS_LEFT], r->part[BASIS_RIGHT], x);
}

static void from_basis(const ref_optimizer *r, double *x)
{
  ref_from_basis(r->rows, r->cols, r->part[BASIS_LEFT], r->part[BASIS_RIGHT], x);
}

/* u in the basis, KL-Shampoo's. */
static void whiten(ref_optimizer *r, const double *g, double *u)
{
  const size_t m = r->rows, n = r->cols;
  const double *left = r->part[VALUES_LEFT], *right = r->part[VALUES_RIGHT];
  double eps = ref_number(r, "eps", 1e-8);
  if (relative(r)) eps *= sqrt(mean(m, left) * mean(n, right));
  ref_momentum(m * n, g, ref_number(r, "mu", 0.9), 0, r->part[FIRST], u);
  to_basis(r, u);
  for (size_t i = 0; i < m * n; i++) {
    const double both = left[i / n] * right[i % n], h = both > 0 ? 1 / sqrt(both) : 0;
    u[i] *= h / (1 + eps * h);
  }
}

/* u in the basis, KL-SOAP's. */
static void adam(ref_optimizer *r, const double *g, double *u)
{
  const size_t count = r->rows * r->cols;
  const double beta2 = ref_number(r, "beta2", 0.98);
  double *v = r->part[SECOND], eps = ref_number(r, "eps", 1e-8);
  memcpy(u, g, count * sizeof *u);
  to_basis(r, u);
  for (size_t i = 0; i < count; i++) v[i] = beta2 * v[i] + (1 - beta2) * u[i] * u[i];
  ref_average(count, u, ref_number(r, "mu", 0.9), r->part[FIRST]);
  if (relative(r)) eps *= sqrt(mean(count, v));
  for (size_t i = 0; i < count; i++) {
    const double divisor = sqrt(v[i]) + eps;
    u[i] = divisor > 0 ? r->part[FIRST][i] / divisor : 0;
  }
}

/* s (d x d) and its eigenvalues, from g (d x e), z (d x e: g in the basis) and the other side's
 * basis and values. */
static void average(const ref_optimizer *r, size_t d, size_t e, const double *g,
                    const double *z, const double *other_basis, const double *other_values,
                    double *s, double *values)
{
  const double beta = ref_number(r, "beta", 0.98);
  double *y = ref_copy(g, d * e), *squares = ref_zeros(d), *gram = ref_zeros(d * d);
  ref_sandwich(d, e, NULL, other_basis, y);
  for (size_t i = 0; i < d * e; i++) {
    y[i] /= sqrt(other_values[i % e]);
    squares[i / e] += z[i] * z[i] / other_values[i % e] / (double)e;
  }
  ref_average_left(d, e, y, 0, gram);
  ref_scale(gram, d * d, 1 / (double)e);
  ref_average(d * d, gram, beta, s);
  ref_average(d, squares, beta, values);
  const double c = fmax(10, fmin((double)d, 4000));
  const double floor = (relative(r) ? mean(d, values) : 1) / (c * c);
  for (size_t i = 0; i < d; i++) values[i] = fmax(values[i], floor);
  free(gram);
  free(squares);
  free(y);
}

static void statistics(ref_optimizer *r, const double *g)
{
  const size_t m = r->rows, n = r->cols;
  double *z = ref_copy(g, m * n), *g_across = ref_zeros(m * n), *z_across = ref_zeros(m * n);
  double *old_left = ref_copy(r->part[VALUES_LEFT], m);
  to_basis(r, z);
  ref_transpose(m, n, g, g_across);
  ref_transpose(m, n, z, z_across);
  average(r, m, n, g, z, r->part[BASIS_RIGHT], r->part[VALUES_RIGHT], r->part[LEFT],
          r->part[VALUES_LEFT]);
  average(r, n, m, g_across, z_across, r->part[BASIS_LEFT], old_left, r->part[RIGHT],
          r->part[VALUES_RIGHT]);
  free(old_left);
  free(z_across);
  free(g_across);
  free(z);
}

/* q = the eigenvectors, each where step 4 says. */
static void find(size_t n, const double *s, const double *image, double *q)
{
  double *quotients = ref_zeros(n), *found = ref_zeros(n * n), largest = 0;
  for (size_t i = 0; i < n * n; i++) quotients[i % n] += q[i] * image[i];
  for (size_t i = 0; i < n; i++) largest = fmax(largest, quotients[i]);
  for (size_t i = 0; i < n; i++)
    if (quotients[i] <= 1e-5 * largest) quotients[i] = 0;
  ref_eigenbasis(n, s, found);
  for (size_t k = 0; k < n; k++) {
    size_t best = 0;
    for (size_t j = 1; j < n; j++)
      if (quotients[j] > quotients[best]) best = j;
    for (size_t i = 0; i < n; i++) q[i * n + best] = found[i * n + k];
    quotients[best] = -HUGE_VAL;
  }
  free(found);
  free(quotients);
}

static int by_eigh(const ref_optimizer *r)
{
  static const char *const ways[] = {"auto", "eigh", NULL};
  return ref_choice(r, "refresh", ways, 0) == 1;
}

static void turn(const ref_optimizer *r, size_t n, const double *s, double *q)
{
  const size_t small = r->rows < r->cols ? r->rows : r->cols;
  double *image = ref_zeros(n * n);
  ref_multiply(n, n, n, s, q, image);
  if (r->seen * small < n || by_eigh(r))
    find(n, s, image, q);
  else
    ref_qr(n, image, q);
  free(image);
}

static void turn_both(ref_optimizer *r)
{
  turn(r, r->rows, r->part[LEFT], r->part[BASIS_LEFT]);
  turn(r, r->cols, r->part[RIGHT], r->part[BASIS_RIGHT]);
}

static void step(ref_optimizer *r, int soap, double *w, const double *g)
{
  const size_t count = r->rows * r->cols;
  const double lr = ref_number(r, "lr", 1e-4), decay = ref_number(r, "weight_decay", 0.01);
  if (r->t == 1) {
    start(r, g);
    return;
  }
  double *u = ref_zeros(count);
  if (soap)
    adam(r, g, u);
  else
    whiten(r, g, u);
  from_basis(r, u);
  for (size_t i = 0; i < count; i++) w[i] = (w[i] - lr * u[i]) * (1 - lr * decay);
  const int begins = r->part[VALUES_LEFT][0] == 0;
  if (!begins) statistics(r, g);
  if (begins || ref_due(r, 10)) {
    if (soap) from_basis(r, r->part[FIRST]);
    if (begins)
      start(r, g);
    else
      turn_both(r);
    if (soap) to_basis(r, r->part[FIRST]);
  }
  free(u);
}

static void shampoo_step(ref_optimizer *r, double *w, const double *g)
{
  step(r, 0, w, g);
}

static void soap_step(ref_optimizer *r, double *w, const double *g)
{
  step(r, 1, w, g);
}

const ref_algorithm ref_klshampoo = {"klshampoo", layout, shampoo_step};
const ref_algorithm ref_klsoap = {"klsoap", layout, soap_step};
