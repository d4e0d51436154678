/* shampoo.c - L^(-1/4) M R^(-1/4), grafted:
 *
 *     L <- beta2*L + (1-beta2)*G*G^T;  R <- beta2*R + (1-beta2)*G^T*G     from zero
 *     when (t-1) mod refresh_every == 0:
 *         Lc = L/(1-beta2^t);  P_L = (Lc + eps*lambda_max(Lc)*I)^(-1/4);  P_R likewise
 *     M <- beta1*M + (1-beta1)*G;  v <- beta2*v + (1-beta2)*G^2
 *     Mhat = M/(1-beta1^t), vhat = v/(1-beta2^t)
 *     U = P_L*Mhat*P_R
 *     graft: U <- U * ||Mhat/(sqrt(vhat)+1e-8)||_F/||U||_F (adam), ||Mhat||_F/||U||_F (sgd)
 *     W <- W*(1 - lr*weight_decay) - lr*U
 *
 * bias_correction off leaves out all three corrections. A side longer than max_precond_dim, or not
 * among `sides`, has P = I; the other keeps the power -1/4. block: each diagonal block by itself. Statistics that are zero have P = I. U = 0 is not
 * grafted. refresh = qr: eigenvalues and eigenvectors as parts.h has them. Defaults: lr 1e-3, beta1 .9, beta2 .95, eps 1e-6, refresh_every 10, graft adam.
 */
#include "reference/dense.h"
#include "reference/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  FIRST_MOMENT,
  SECOND_MOMENT,
  LEFT,
  RIGHT,
  POWER_LEFT,
  POWER_RIGHT,
  BASIS_LEFT,
  BASIS_RIGHT
};
enum { ADAM, SGD, NONE };

static void layout(const ref_optimizer *r, size_t counts[REF_PARTS])
{
  counts[FIRST_MOMENT] = counts[SECOND_MOMENT] = r->rows * r->cols;
  counts[LEFT] = counts[POWER_LEFT] = counts[BASIS_LEFT] = r->rows * r->rows;
  counts[RIGHT] = counts[POWER_RIGHT] = counts[BASIS_RIGHT] = r->cols * r->cols;
}

static void inverse_fourth_root(const ref_optimizer *r, size_t n, double *s, double *basis,
                                double *out)
{
  const double correction = ref_correction(r, ref_number(r, "beta2", 0.95), r->t);
  double *values = ref_zeros(n), *vectors = ref_zeros(n * n);
  ref_decompose(r, n, s, basis, values, vectors);
  double largest = 0;
  for (size_t k = 0; k < n; k++) largest = fmax(largest, values[k] / correction);
  const double damping = ref_number(r, "eps", 1e-6) * largest;
  const int is_identity = largest <= 0;
  memset(out, 0, n * n * sizeof *out);
  for (size_t k = 0; k < n; k++) {
    const double value = fmax(values[k] / correction, 0) + damping;
    const double power = is_identity ? 1 : pow(value, -0.25);
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < n; j++)
        out[i * n + j] += power * vectors[i * n + k] * vectors[j * n + k];
  }
  free(vectors);
  free(values);
}

static void refresh(const ref_optimizer *r, int left)
{
  const size_t n = left ? r->rows : r->cols;
  double *power = r->part[left ? POWER_LEFT : POWER_RIGHT];
  if (!ref_has_side(r, REF_BOTH, left) || (double)n > ref_number(r, "max_precond_dim", 10000))
    ref_identity(n, power);
  else
    ref_by_blocks(r, n, r->part[left ? LEFT : RIGHT], inverse_fourth_root,
                  r->part[left ? BASIS_LEFT : BASIS_RIGHT], power);
}

/* The norm that the update is given; negative: its own. */
static double graft_norm(const ref_optimizer *r, const double *first)
{
  static const char *const names[] = {"adam", "sgd", "none", NULL};
  const size_t count = r->rows * r->cols, graft = ref_choice(r, "graft", names, ADAM);
  const double correction = ref_correction(r, ref_number(r, "beta2", 0.95), r->t);
  double squares = 0;
  if (graft == NONE) return -1;
  if (graft == SGD) return ref_norm(first, count);
  for (size_t i = 0; i < count; i++) {
    const double adam = first[i] / (sqrt(r->part[SECOND_MOMENT][i] / correction) + 1e-8);
    squares += adam * adam;
  }
  return sqrt(squares);
}

static void step(ref_optimizer *r, double *w, const double *g)
{
  const size_t m = r->rows, n = r->cols, count = m * n;
  const double lr = ref_number(r, "lr", 1e-3), decay = ref_number(r, "weight_decay", 0.01);
  const double beta1 = ref_number(r, "beta1", 0.9), beta2 = ref_number(r, "beta2", 0.95);
  double *first = ref_zeros(count), *product = ref_zeros(count), *u = ref_zeros(count);
  ref_average_left(m, n, g, beta2, r->part[LEFT]);
  ref_average_right(m, n, g, beta2, r->part[RIGHT]);
  if ((r->t - 1) % (uint64_t)ref_number(r, "refresh_every", 10) == 0) {
    refresh(r, 1);
    refresh(r, 0);
  }
  for (size_t i = 0; i < count; i++) {
    double *moment = &r->part[FIRST_MOMENT][i], *square = &r->part[SECOND_MOMENT][i];
    *moment = beta1 * *moment + (1 - beta1) * g[i];
    *square = beta2 * *square + (1 - beta2) * g[i] * g[i];
    first[i] = *moment / ref_correction(r, beta1, r->t);
  }
  ref_multiply(m, m, n, r->part[POWER_LEFT], first, product);
  ref_multiply(m, n, n, product, r->part[POWER_RIGHT], u);
  const double wanted = graft_norm(r, first), norm = ref_norm(u, count);
  if (wanted >= 0 && norm > 0) ref_scale(u, count, wanted / norm);
  for (size_t i = 0; i < count; i++) w[i] = w[i] * (1 - lr * decay) - lr * u[i];
  free(u);
  free(product);
  free(first);
}

const ref_algorithm ref_shampoo = {"shampoo", layout, step};
