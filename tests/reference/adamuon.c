/* adamuon.c - AdaMuon (Si et al., 2025): an element-wise second moment of the orthogonal factor.
 *
 *     M <- mu*M + (1-mu)*G;  X0 = (1-mu)*G + mu*M        (nesterov [on], else M)
 *     O = NS(sign(X0))                                   (sign [on], else NS(X0))
 *     v <- beta2*v + (1-beta2)*O^2;  U = O/(sqrt(v)+eps)
 *     U <- U * 0.2*sqrt(m*n)/(||U||+eps)
 *     W <- W*(1 - lr*weight_decay) - lr*U
 *
 * The published program uses mu for beta2. Defaults: lr .02, mu .95, beta2 .95, eps 1e-8,
 * weight_decay .01, jordan5.
 */
#include "reference/dense.h"
#include "reference/parts.h"

#include <math.h>
#include <stdlib.h>

enum { MOMENTUM, SECOND };

static void layout(const ref_optimizer *r, size_t counts[REF_PARTS])
{
  counts[MOMENTUM] = counts[SECOND] = r->rows * r->cols;
}

static void step(ref_optimizer *r, double *w, const double *g)
{
  const size_t count = r->rows * r->cols;
  const double beta2 = ref_number(r, "beta2", 0.95), eps = ref_number(r, "eps", 1e-8);
  double *x = ref_zeros(count), *u = ref_zeros(count), *v = r->part[SECOND];
  ref_momentum(count, g, ref_number(r, "mu", 0.95), ref_number(r, "nesterov", 1) != 0,
               r->part[MOMENTUM], x);
  if (ref_number(r, "sign", 1) != 0)
    for (size_t i = 0; i < count; i++) x[i] = (x[i] > 0) - (x[i] < 0);
  ref_orthogonalise(r, REF_JORDAN5, REF_FROBENIUS, r->rows, r->cols, x, u);
  for (size_t i = 0; i < count; i++) {
    v[i] = beta2 * v[i] + (1 - beta2) * u[i] * u[i];
    u[i] = u[i] != 0 ? u[i] / (sqrt(v[i]) + eps) : 0;
  }
  ref_scale(u, count, 0.2 * sqrt((double)count) / (ref_norm(u, count) + eps));
  ref_apply(r, (ref_finish){0.02, 0.01, REF_NONE}, w, u);
  free(u);
  free(x);
}

const ref_algorithm ref_adamuon = {"adamuon", layout, step};
