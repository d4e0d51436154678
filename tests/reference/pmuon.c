/* pmuon.c - PMuon (2026): Muon behind a power of the momentum's own covariances.
 *
 *     M <- mu*M + (1-mu)*G;  x = (1-mu)*G + mu*M          (nesterov [on], else M)
 *     A <- beta*A + x*x^T;  C <- beta*C + x^T*x           sums, of the momentum
 *     when (t-1) mod refresh_every == 0:
 *         A~ = x*x^T + beta*A                             the present x counts 1 + beta times
 *         P_A = (A~*m/tr(A~) + eps*I)^-alpha;  P_C likewise
 *     U = NS(P_A*x*P_C)
 *     W <- W*(1 - lr*weight_decay) - lr*shape*U
 *
 * The power is exact, or that of the option refresh = qr (parts.h) (the published program takes one step of orthogonal iteration, and scales P
 * otherwise, which Newton-Schulz does not see). Defaults: lr .035, mu .95, beta .95, alpha .3, eps
 * 1e-6, refresh_every 1, weight_decay .025, exact12, shape jordan.
 */
#include "reference/dense.h"
#include "reference/parts.h"

#include <math.h>
#include <stdlib.h>

enum { MOMENTUM, LEFT, RIGHT, POWER_LEFT, POWER_RIGHT, BASIS_LEFT, BASIS_RIGHT };

static void layout(const ref_optimizer *r, size_t counts[REF_PARTS])
{
  counts[MOMENTUM] = r->rows * r->cols;
  counts[LEFT] = counts[POWER_LEFT] = counts[BASIS_LEFT] = r->rows * r->rows;
  counts[RIGHT] = counts[POWER_RIGHT] = counts[BASIS_RIGHT] = r->cols * r->cols;
}

static void power_of(const ref_optimizer *r, size_t d, const double *s, double *basis,
                     double *power)
{
  double *values = ref_zeros(d), *vectors = ref_zeros(d * d);
  ref_decompose(r, d, s, basis, values, vectors);
  ref_power_of(d, values, vectors, -ref_number(r, "alpha", 0.3), ref_number(r, "eps", 1e-6), 0,
               power);
  free(vectors);
  free(values);
}

/* One side: x is d x e. */
static void move(const ref_optimizer *r, size_t d, size_t e, const double *x, double *s,
                 double *power, double *basis)
{
  const double beta = ref_number(r, "beta", 0.95);
  double *gram = ref_zeros(d * d);
  ref_average_left(d, e, x, 0, gram);
  for (size_t i = 0; i < d * d; i++) s[i] = beta * s[i] + gram[i];
  for (size_t i = 0; i < d * d; i++) gram[i] += beta * s[i];
  const double trace = ref_trace(d, gram);
  if (trace > 0) ref_scale(gram, d * d, (double)d / trace);
  if (ref_due(r, 1)) {
    if (trace > 0)
      power_of(r, d, gram, basis, power);
    else
      ref_identity(d, power);
  }
  free(gram);
}

static void step(ref_optimizer *r, double *w, const double *g)
{
  const size_t m = r->rows, n = r->cols;
  const int left = ref_has_side(r, REF_BOTH, 1), right = ref_has_side(r, REF_BOTH, 0);
  double *x = ref_zeros(m * n), *across = ref_zeros(m * n), *u = ref_zeros(m * n);
  ref_momentum(m * n, g, ref_number(r, "mu", 0.95), ref_number(r, "nesterov", 1) != 0,
               r->part[MOMENTUM], x);
  ref_transpose(m, n, x, across);
  move(r, m, n, x, r->part[LEFT], r->part[POWER_LEFT], r->part[BASIS_LEFT]);
  move(r, n, m, across, r->part[RIGHT], r->part[POWER_RIGHT], r->part[BASIS_RIGHT]);
  ref_sandwich(m, n, left ? r->part[POWER_LEFT] : NULL, right ? r->part[POWER_RIGHT] : NULL, x);
  ref_orthogonalise(r, REF_EXACT12, REF_FROBENIUS, m, n, x, u);
  ref_apply(r, (ref_finish){0.035, 0.025, REF_JORDAN}, w, u);
  free(u);
  free(across);
  free(x);
}

const ref_algorithm ref_pmuon = {"pmuon", layout, step};
