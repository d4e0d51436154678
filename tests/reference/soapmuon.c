/* soapmuon.c - SOAP-Muon (modded-nanogpt track 3, 2026): SOAP's scaling before Muon.
 *
 *     M <- mu*M + (1-mu)*G;  X0 = (1-mu)*G + mu*M         (nesterov [on], else M)
 *     t > 1:  Z = Q_L^T*X0*Q_R;  v <- beta2*v + (1-beta2)*Z^2;  X = Q_L [ Z/sqrt(max(v, e)) ] Q_R^T
 *     t = 1:  X = X0
 *     U = NS(X)
 *     W <- W*(1 - lr*weight_decay) - lr*shape*U
 *     then L <- beta*L + (1-beta)*G*G^T;  R likewise;  when (t-1) mod refresh_every == 0:
 *         t = 1, or s*min(m,n) < dimension, s counting gradients other than 0:
 *             Q = the eigenvectors, largest first
 *         later:  order the columns of Q by diag(Q^T*L*Q), largest first, v with them;
 *                 Q <- the orthogonal factor of L*Q
 *         refresh = eigh (of the library's `spectral`), t > 1:  v as in `later`, and
 *                 Q = the eigenvectors, largest first
 *
 * gate on: Y = X*||X0||_4/||X||_4;  X = X0 + g*(Y - X0), rescaled to ||X0||_4, with
 *     g = clip((cos(Y,X0) - .2)/.8, 0, 1)*clip(cos(Y,G)/max(cos(X0,G), 1e-8), 0, 1), then clipped to
 *     [gate_floor, gate_cap];  ||X||_4 = ||X*X^T||^(1/2)
 *
 * A side not in `sides` has Q = I. Where the eigenvectors replace an older basis, v stays.
 * e = eps*mean(v). X is given the norm of X0.
 * Defaults: lr .0375, mu .95, beta .9, beta2 .9, eps 1e-8, refresh_every 1, weight_decay 0,
 * exact12 with the divisor schatten4, shape jordan.
 */
#include "reference/dense.h"
#include "reference/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOMENTUM, SECOND, LEFT, RIGHT, BASIS_LEFT, BASIS_RIGHT };

static void layout(const ref_optimizer *r, size_t counts[REF_PARTS])
{
  counts[MOMENTUM] = counts[SECOND] = r->rows * r->cols;
  counts[LEFT] = counts[BASIS_LEFT] = r->rows * r->rows;
  counts[RIGHT] = counts[BASIS_RIGHT] = r->cols * r->cols;
}

static double floor_of(const ref_optimizer *r)
{
  const size_t count = r->rows * r->cols;
  double mean = 0;
  for (size_t i = 0; i < count; i++) mean += r->part[SECOND][i] / (double)count;
  return ref_number(r, "eps", 1e-8) * mean;
}

static void whiten(ref_optimizer *r, double *x)
{
  const size_t m = r->rows, n = r->cols;
  const double *left = ref_has_side(r, REF_BOTH, 1) ? r->part[BASIS_LEFT] : NULL;
  const double *right = ref_has_side(r, REF_BOTH, 0) ? r->part[BASIS_RIGHT] : NULL;
  const double beta2 = ref_number(r, "beta2", 0.9);
  double *v = r->part[SECOND];
  const double norm = ref_norm(x, m * n);
  ref_to_basis(m, n, left, right, x);
  for (size_t i = 0; i < m * n; i++) v[i] = beta2 * v[i] + (1 - beta2) * x[i] * x[i];
  const double floor = floor_of(r);
  for (size_t i = 0; i < m * n; i++) x[i] = v[i] > 0 ? x[i] / sqrt(fmax(v[i], floor)) : 0;
  ref_from_basis(m, n, left, right, x);
  ref_rescale(m * n, norm, x);
}

static double four_norm(size_t m, size_t n, const double *x)
{
  double *gram = ref_zeros(m * m);
  ref_average_left(m, n, x, 0, gram);
  const double norm = sqrt(ref_norm(gram, m * m));
  free(gram);
  return norm;
}

static double clip(double x, double low, double high)
{
  return fmin(fmax(x, low), high);
}

static double cosine(size_t count, const double *a, const double *b)
{
  return ref_dot(count, a, b) / (ref_norm(a, count) * ref_norm(b, count));
}

/* y, which is x0 whitened, becomes what the gate lets through of it. */
static void pass_gate(const ref_optimizer *r, const double *g, const double *x0, double *y)
{
  const size_t m = r->rows, n = r->cols;
  const double length = four_norm(m, n, x0);
  ref_scale(y, m * n, length / four_norm(m, n, y));
  const double first = clip((cosine(m * n, y, x0) - 0.2) / 0.8, 0, 1);
  const double second = clip(cosine(m * n, y, g) / fmax(cosine(m * n, x0, g), 1e-8), 0, 1);
  const double gate =
      clip(first * second, ref_number(r, "gate_floor", 0), ref_number(r, "gate_cap", 1));
  for (size_t i = 0; i < m * n; i++) y[i] = x0[i] + gate * (y[i] - x0[i]);
  ref_scale(y, m * n, length / four_norm(m, n, y));
}

/* order[0..n) = indices of the estimates, largest first; equal ones keep their order. */
static void falling(size_t n, const double *estimates, size_t *order)
{
  for (size_t i = 0; i < n; i++) {
    size_t at = i;
    for (; at > 0 && estimates[order[at - 1]] < estimates[i]; at--) order[at] = order[at - 1];
    order[at] = i;
  }
}

static void permute_second_moment(ref_optimizer *r, int left, const size_t *order)
{
  const size_t m = r->rows, n = r->cols;
  double *old = ref_copy(r->part[SECOND], m * n);
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++)
      r->part[SECOND][i * n + j] = left ? old[order[i] * n + j] : old[i * n + order[j]];
  free(old);
}

static int by_eigh(const ref_optimizer *r)
{
  static const char *const ways[] = {"auto", "eigh", "qr", NULL};
  return ref_choice(r, "refresh", ways, 2) < 2;
}

static void turn(ref_optimizer *r, int left)
{
  const size_t n = left ? r->rows : r->cols;
  const double *s = r->part[left ? LEFT : RIGHT];
  double *q = r->part[left ? BASIS_LEFT : BASIS_RIGHT];
  double *image = ref_zeros(n * n), *sorted = ref_zeros(n * n), *estimates = ref_zeros(n);
  size_t *order = calloc(n, sizeof *order);
  if (order == NULL) abort();
  ref_multiply(n, n, n, s, q, image);
  for (size_t i = 0; i < n * n; i++) estimates[i % n] += q[i] * image[i];
  falling(n, estimates, order);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) sorted[i * n + j] = image[i * n + order[j]];
  if (by_eigh(r))
    ref_eigenbasis(n, s, q);
  else
    ref_qr(n, sorted, q);
  permute_second_moment(r, left, order);
  free(order);
  free(estimates);
  free(sorted);
  free(image);
}

static void refresh(ref_optimizer *r, int left)
{
  const size_t n = left ? r->rows : r->cols, small = r->rows < r->cols ? r->rows : r->cols;
  if (!ref_has_side(r, REF_BOTH, left)) return;
  if (r->t == 1 || (r->seen * small < n && !by_eigh(r)))
    ref_eigenbasis(n, r->part[left ? LEFT : RIGHT], r->part[left ? BASIS_LEFT : BASIS_RIGHT]);
  else
    turn(r, left);
}

static void step(ref_optimizer *r, double *w, const double *g)
{
  const size_t m = r->rows, n = r->cols;
  const double beta = ref_number(r, "beta", 0.9);
  double *x = ref_zeros(m * n), *u = ref_zeros(m * n);
  ref_momentum(m * n, g, ref_mu(r), ref_number(r, "nesterov", 1) != 0, r->part[MOMENTUM], x);
  double *x0 = ref_copy(x, m * n);
  if (r->t > 1) whiten(r, x);
  if (r->t > 1 && ref_number(r, "gate", 0) != 0) pass_gate(r, g, x0, x);
  free(x0);
  ref_orthogonalise(r, REF_EXACT12, REF_SCHATTEN4, m, n, x, u);
  ref_apply(r, (ref_finish){0.0375, 0, REF_JORDAN}, w, u);
  ref_average_left(m, n, g, beta, r->part[LEFT]);
  ref_average_right(m, n, g, beta, r->part[RIGHT]);
  if (ref_due(r, 1)) {
    refresh(r, 1);
    refresh(r, 0);
  }
  free(u);
  free(x);
}

const ref_algorithm ref_soapmuon = {"soapmuon", layout, step};
