/* fismo.c - FISMO (2026): Muon in the space whitened by Kronecker factors of the Fisher matrix.
 *
 *     P = Q = I at first.  When (t-1) mod refresh_every == 0 the powers of P and Q are renewed.
 *     Lx = G*Q^-1*G^T/n;  P <- beta*P + (1-beta)*(Lx + eps*tr(P)/m*I);  P <- P*m/tr(P)
 *     Rx = G^T*P^-1*G/m;  Q <- beta*Q + (1-beta)*(Rx + eps*tr(Q)/n*I);  Q <- Q*n/tr(Q)
 *     Gw = P^(-1/2)*G*Q^(-1/2);  M <- mu*M + (1-mu)*Gw       momentum in the whitened space
 *     N = NS(M);  U = P^(-1/2)*N*Q^(-1/2);  graft [on]: U <- U*||N||/||U||
 *     W <- W*(1 - lr*weight_decay) - lr*shape*U
 *
 * trace_norm [off]: Lx <- Lx*m/tr(Lx), Rx <- Rx*n/tr(Rx). outer off: U = N. Defaults (none are
 * published): lr .02, mu .95, beta .95, eps 1e-3, refresh_every 1, weight_decay 0, you5, shape
 * spectral.
 */
#include "reference/dense.h"
#include "reference/parts.h"

#include <stdlib.h>

enum { MOMENTUM, LEFT, RIGHT, LEFT_INVERSE, RIGHT_INVERSE, LEFT_ROOT, RIGHT_ROOT };

static void layout(const ref_optimizer *r, size_t counts[REF_PARTS])
{
  counts[MOMENTUM] = r->rows * r->cols;
  counts[LEFT] = counts[LEFT_INVERSE] = counts[LEFT_ROOT] = r->rows * r->rows;
  counts[RIGHT] = counts[RIGHT_INVERSE] = counts[RIGHT_ROOT] = r->cols * r->cols;
}

static void start(ref_optimizer *r)
{
  for (int part = LEFT; part <= RIGHT_ROOT; part += 2) {
    ref_identity(r->rows, r->part[part]);
    ref_identity(r->cols, r->part[part + 1]);
  }
}

/* One factor s (d x d) from g (d x e) and the inverse (e x e) of the other; then its powers. */
static void move(const ref_optimizer *r, size_t d, size_t e, const double *g,
                 const double *other_inverse, double *s, double *inverse, double *root)
{
  const double beta = ref_number(r, "beta", 0.95);
  const double damping = ref_number(r, "eps", 1e-3) * ref_trace(d, s) / (double)d;
  double *half = ref_zeros(d * e), *back = ref_zeros(d * e), *x = ref_zeros(d * d);
  ref_multiply(d, e, e, g, other_inverse, half);
  ref_transpose(d, e, g, back);
  ref_multiply(d, e, d, half, back, x);
  ref_scale(x, d * d, 1 / (double)e);
  const double trace = ref_trace(d, x);
  if (ref_number(r, "trace_norm", 0) != 0 && trace > 0) ref_scale(x, d * d, (double)d / trace);
  for (size_t i = 0; i < d; i++) x[i * d + i] += damping;
  ref_average(d * d, x, beta, s);
  ref_scale(s, d * d, (double)d / ref_trace(d, s));
  if (ref_due(r, 1)) {
    ref_power(d, s, -1, 0, 0, inverse);
    ref_power(d, s, -0.5, 0, 0, root);
  }
  free(x);
  free(back);
  free(half);
}

static void step(ref_optimizer *r, double *w, const double *g)
{
  const size_t m = r->rows, n = r->cols;
  double *x = ref_copy(g, m * n), *u = ref_zeros(m * n), *across = ref_zeros(m * n);
  ref_transpose(m, n, g, across);
  if (r->t == 1) start(r);
  move(r, m, n, g, r->part[RIGHT_INVERSE], r->part[LEFT], r->part[LEFT_INVERSE],
       r->part[LEFT_ROOT]);
  move(r, n, m, across, r->part[LEFT_INVERSE], r->part[RIGHT], r->part[RIGHT_INVERSE],
       r->part[RIGHT_ROOT]);
  ref_sandwich(m, n, r->part[LEFT_ROOT], r->part[RIGHT_ROOT], x);
  ref_average(m * n, x, ref_number(r, "mu", 0.95), r->part[MOMENTUM]);
  ref_orthogonalise(r, REF_YOU5, REF_FROBENIUS, m, n, r->part[MOMENTUM], u);
  if (ref_number(r, "outer", 1) != 0) {
    const double norm = ref_norm(u, m * n);
    ref_sandwich(m, n, r->part[LEFT_ROOT], r->part[RIGHT_ROOT], u);
    if (ref_number(r, "graft", 1) != 0) ref_rescale(m * n, norm, u);
  }
  ref_apply(r, (ref_finish){0.02, 0, REF_SPECTRAL}, w, u);
  free(across);
  free(u);
  free(x);
}

const ref_algorithm ref_fismo = {"fismo", layout, step};
