/* soap.c - Adam in the eigenbasis of Shampoo's statistics, in the order of the published code
 * (Vyas et al., precondition_1d, normalize_grads and merge_dims off, shampoo_beta = beta2):
 *
 *     first call:  L = (1-beta2)*G*G^T, R = (1-beta2)*G^T*G      (averaged from zero)
 *                  Q_L, Q_R = eigenvectors by falling eigenvalue; the weights stay as they are
 *     later calls, t = 1, 2, ...:
 *     1. Gp = Q_L^T*G*Q_R
 *     2. m <- beta1*m + (1-beta1)*Gp;  v <- beta2*v + (1-beta2)*Gp^2   (both in the eigenbasis)
 *     3. size = lr*sqrt(1-beta2^t)/(1-beta1^t)   (bias_correction on, else lr)
 *     4. W <- W - size * Q_L*(m/(sqrt(v)+eps))*Q_R^T
 *     5. W <- W - lr*weight_decay*W
 *     6. L <- beta2*L + (1-beta2)*G*G^T; R likewise
 *     7. when t mod refresh_every == 0: m is projected back with the old basis; for each side:
 *        order the columns of Q by diag(Q^T*L*Q), largest first; permute v along that side;
 *        Q <- the orthogonal factor of L*Q; then m is projected with the new basis
 *        (while s*min(m,n) < dimension, s counting gradients other than 0, that
 *        factor is rounding: Q = the eigenvectors again)
 *
 * A side longer than max_precond_dim [10000] has Q = I and no statistics. The sign of a column
 * of Q does not change the update; the basis of a null space is that of ref_eigenbasis.
 * Defaults: lr 3e-3, beta1 .95, beta2 .95, eps 1e-8, weight_decay 0.01, refresh_every 10.
 */
#include "reference/dense.h"
#include "reference/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_MOMENT, SECOND_MOMENT, LEFT, RIGHT, BASIS_LEFT, BASIS_RIGHT };

static void layout(const ref_optimizer *r, size_t counts[REF_PARTS])
{
  counts[FIRST_MOMENT] = counts[SECOND_MOMENT] = r->rows * r->cols;
  counts[LEFT] = counts[BASIS_LEFT] = r->rows * r->rows;
  counts[RIGHT] = counts[BASIS_RIGHT] = r->cols * r->cols;
}

static int rotated(const ref_optimizer *r, size_t dimension)
{
  return (double)dimension <= ref_number(r, "max_precond_dim", 10000);
}

static void average(ref_optimizer *r, const double *g)
{
  const double beta2 = ref_number(r, "beta2", 0.95);
  ref_average_left(r->rows, r->cols, g, beta2, r->part[LEFT]);
  ref_average_right(r->rows, r->cols, g, beta2, r->part[RIGHT]);
}

/* q = the eigenvectors of s by falling eigenvalue; the identity when not rotated. */
static void first_basis(const ref_optimizer *r, size_t n, const double *s, double *q)
{
  if (rotated(r, n))
    ref_eigenbasis(n, s, q);
  else
    ref_identity(n, q);
}

/* out = Q_L^T*x*Q_R, or back: Q_L*x*Q_R^T. */
static void project(const ref_optimizer *r, const double *x, int back, double *out)
{
  const size_t m = r->rows, n = r->cols;
  double *left = ref_copy(r->part[BASIS_LEFT], m * m), *right = ref_zeros(n * n);
  double *product = ref_zeros(m * n);
  ref_transpose(n, n, r->part[BASIS_RIGHT], right);
  if (!back) {
    ref_transpose(m, m, r->part[BASIS_LEFT], left);
    memcpy(right, r->part[BASIS_RIGHT], n * n * sizeof *right);
  }
  ref_multiply(m, m, n, left, x, product);
  ref_multiply(m, n, n, product, right, out);
  free(product);
  free(right);
  free(left);
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

/* One power iteration of the basis q of s. order[i]: which old column became column i. */
static void move_basis(size_t n, const double *s, double *q, size_t *order)
{
  double *image = ref_zeros(n * n), *sorted = ref_zeros(n * n), *estimates = ref_zeros(n);
  ref_multiply(n, n, n, s, q, image);
  for (size_t j = 0; j < n; j++)
    for (size_t i = 0; i < n; i++) estimates[j] += q[i * n + j] * image[i * n + j];
  falling(n, estimates, order);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) sorted[i * n + j] = image[i * n + order[j]];
  ref_qr(n, sorted, q);
  free(estimates);
  free(sorted);
  free(image);
}

static void move_side(ref_optimizer *r, int left)
{
  const size_t m = r->rows, n = r->cols, side = left ? m : n, small = m < n ? m : n;
  if (!rotated(r, side)) return;
  if (r->seen * small < side) {
    ref_eigenbasis(side, r->part[left ? LEFT : RIGHT],
                   r->part[left ? BASIS_LEFT : BASIS_RIGHT]);
    return;
  }
  size_t *order = calloc(side, sizeof *order);
  if (order == NULL) abort();
  double *v = r->part[SECOND_MOMENT], *old = ref_copy(v, m * n);
  move_basis(side, r->part[left ? LEFT : RIGHT], r->part[left ? BASIS_LEFT : BASIS_RIGHT],
             order);
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++)
      v[i * n + j] = left ? old[order[i] * n + j] : old[i * n + order[j]];
  free(old);
  free(order);
}

static void refresh(ref_optimizer *r)
{
  double *original = ref_zeros(r->rows * r->cols);
  project(r, r->part[FIRST_MOMENT], 1, original);
  move_side(r, 1);
  move_side(r, 0);
  project(r, original, 0, r->part[FIRST_MOMENT]);
  free(original);
}

/* Steps 1 to 5. */
static void adam_in_basis(ref_optimizer *r, uint64_t t, double *w, const double *g)
{
  const size_t count = r->rows * r->cols;
  const double lr = ref_number(r, "lr", 3e-3), decay = ref_number(r, "weight_decay", 0.01);
  const double beta1 = ref_number(r, "beta1", 0.95), beta2 = ref_number(r, "beta2", 0.95);
  const double eps = ref_number(r, "eps", 1e-8);
  const double size = lr * sqrt(ref_correction(r, beta2, t)) / ref_correction(r, beta1, t);
  double *m = r->part[FIRST_MOMENT], *v = r->part[SECOND_MOMENT];
  double *projected = ref_zeros(count), *u = ref_zeros(count);
  project(r, g, 0, projected);
  for (size_t i = 0; i < count; i++) {
    m[i] = beta1 * m[i] + (1 - beta1) * projected[i];
    v[i] = beta2 * v[i] + (1 - beta2) * projected[i] * projected[i];
    projected[i] = m[i] / (sqrt(v[i]) + eps);
  }
  project(r, projected, 1, u);
  for (size_t i = 0; i < count; i++) {
    w[i] -= size * u[i];
    w[i] -= lr * decay * w[i];
  }
  free(u);
  free(projected);
}

static void step(ref_optimizer *r, double *w, const double *g)
{
  const uint64_t t = r->t - 1; /* the first call only makes the basis */
  if (t > 0) adam_in_basis(r, t, w, g);
  average(r, g);
  if (t == 0) {
    first_basis(r, r->rows, r->part[LEFT], r->part[BASIS_LEFT]);
    first_basis(r, r->cols, r->part[RIGHT], r->part[BASIS_RIGHT]);
  } else if (t % (uint64_t)ref_number(r, "refresh_every", 10) == 0) {
    refresh(r);
  }
}

const ref_algorithm ref_soap = {"soap", layout, step};
