/* mousse.c - the curvature-aware Muon, literally:
 *
 *     M <- mu*M + G;  X0 = M (nesterov: mu*M + G)
 *     L <- beta*L + (1-beta)*G*G^T;  R <- beta*R + (1-beta)*G^T*G        from zero
 *     when (t-1) mod refresh_every == 0, for each side (and each diagonal block of it):
 *         Lc = L/(1-beta^t)            (bias_correction on, else L)
 *         Lt = Lc*d/(tr(Lc)+eps)       (trace_norm on, else Lc; d = the block's dimension)
 *         (lam, Q) = eigh(Lt + eps*I), or refresh = qr (parts.h);  lam += max(0, -min(lam)) + eps
 *         P = Q diag(lam^-alpha) Q^T
 *         (stats_when = after, of the library's `spectral`: when the weights have moved; P = I till
 *         then)
 *     X = P_L*X0*P_R;  N = NS(X);  gamma = ||N||_F
 *     U = P_L*N*P_R, grafted to U*gamma/||U||_F   (outer off: U = N)
 *     W <- W*(1 - lr*weight_decay) - lr*shape*U
 *
 * The total damping is 2*eps, as in the published code. A side not in `sides` has P = I; small
 * is the side of the smaller dimension, left when square. U = 0 is not grafted.
 */
#include "reference/dense.h"
#include "reference/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOMENTUM, LEFT, RIGHT, POWER_LEFT, POWER_RIGHT, BASIS_LEFT, BASIS_RIGHT };
enum { BOTH, LEFT_ONLY, RIGHT_ONLY, SMALL };

static void layout(const ref_optimizer *r, size_t counts[REF_PARTS])
{
  counts[MOMENTUM] = r->rows * r->cols;
  counts[LEFT] = counts[POWER_LEFT] = counts[BASIS_LEFT] = r->rows * r->rows;
  counts[RIGHT] = counts[POWER_RIGHT] = counts[BASIS_RIGHT] = r->cols * r->cols;
}

static int uses(const ref_optimizer *r, int side)
{
  static const char *const names[] = {"both", "left", "right", "small", NULL};
  const size_t sides = ref_choice(r, "sides", names, BOTH);
  const int small = r->rows <= r->cols ? LEFT : RIGHT;
  return sides == BOTH || (sides == SMALL && side == small) ||
         sides == (side == LEFT ? LEFT_ONLY : RIGHT_ONLY);
}

/* out = (normalised, damped s)^-alpha for one symmetric d x d block with the basis q. */
static void inverse_power(const ref_optimizer *r, size_t d, double *s, double *q, double *out)
{
  const double eps = ref_number(r, "eps", 1e-5), alpha = ref_number(r, "alpha", 0.125);
  double *values = ref_zeros(d), *vectors = ref_zeros(d * d), lowest = 0;
  ref_scale(s, d * d, 1 / ref_correction(r, ref_number(r, "beta", 0.95), r->t));
  if (ref_number(r, "trace_norm", 1) != 0)
    ref_scale(s, d * d, (double)d / (ref_trace(d, s) + eps));
  ref_decompose(r, d, s, q, values, vectors);
  for (size_t k = 0; k < d; k++) lowest = fmin(lowest, values[k] + eps);
  for (size_t k = 0; k < d; k++) values[k] += eps - lowest;
  ref_power_of(d, values, vectors, -alpha, eps, 0, out);
  free(vectors);
  free(values);
}

/* x <- P_L * x * P_R */
static void whiten(const ref_optimizer *r, double *x)
{
  const size_t m = r->rows, n = r->cols;
  double *product = ref_zeros(m * n);
  if (uses(r, LEFT)) {
    ref_multiply(m, m, n, r->part[POWER_LEFT], x, product);
    memcpy(x, product, m * n * sizeof *x);
  }
  if (uses(r, RIGHT)) {
    ref_multiply(m, n, n, x, r->part[POWER_RIGHT], product);
    memcpy(x, product, m * n * sizeof *x);
  }
  free(product);
}

static void refresh(const ref_optimizer *r)
{
  if (!ref_due(r, 10)) return;
  if (uses(r, LEFT))
    ref_by_blocks(r, r->rows, r->part[LEFT], inverse_power, r->part[BASIS_LEFT],
                  r->part[POWER_LEFT]);
  if (uses(r, RIGHT))
    ref_by_blocks(r, r->cols, r->part[RIGHT], inverse_power, r->part[BASIS_RIGHT],
                  r->part[POWER_RIGHT]);
}

static void step(ref_optimizer *r, double *w, const double *g)
{
  static const char *const whens[] = {"before", "after", NULL};
  const int after = ref_choice(r, "stats_when", whens, 0) == 1;
  const size_t m = r->rows, n = r->cols, count = m * n;
  const double mu = ref_number(r, "mu", 0.95), beta = ref_number(r, "beta", 0.95);
  const int nesterov = ref_number(r, "nesterov", 0) != 0;
  double *momentum = r->part[MOMENTUM], *x = ref_zeros(count), *u = ref_zeros(count);
  for (size_t i = 0; i < count; i++) {
    momentum[i] = mu * momentum[i] + g[i];
    x[i] = nesterov ? mu * momentum[i] + g[i] : momentum[i];
  }
  if (uses(r, LEFT)) ref_average_left(m, n, g, beta, r->part[LEFT]);
  if (uses(r, RIGHT)) ref_average_right(m, n, g, beta, r->part[RIGHT]);
  if (r->t == 1) {
    ref_identity(m, r->part[POWER_LEFT]);
    ref_identity(n, r->part[POWER_RIGHT]);
  }
  if (!after) refresh(r);
  whiten(r, x);
  ref_newton_schulz(r, x, u);
  if (ref_number(r, "outer", 1) != 0) {
    const double gamma = ref_norm(u, count);
    whiten(r, u);
    const double norm = ref_norm(u, count);
    if (ref_number(r, "graft", 1) != 0 && norm > 0) ref_scale(u, count, gamma / norm);
  }
  ref_apply_spectral(r, w, u);
  if (after) refresh(r);
  free(u);
  free(x);
}

const ref_algorithm ref_mousse = {"mousse", layout, step};
