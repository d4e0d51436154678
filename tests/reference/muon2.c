/* muon2.c - Muon in a diagonal geometry: Muon^2 (2026), and appendix A.1 of the Mousse paper.
 *
 *     M <- mu*M + (1-mu)*G;  X0 = (1-mu)*G + mu*M        (nesterov [on], else M)
 *     v <- beta2*v + (1-beta2)*G^2
 *     outer off:  D = v^alpha + eps;                          U = NS(X0/D)
 *                 (floors = relative, of the library's `spectral`: v^alpha + eps*mean(v^alpha))
 *     outer on:   D = v^alpha + eps_rel*mean(v^alpha);        N = NS(X0/D);  U = N/D
 *                 graft [on]: U <- U*||N||/||U||
 *     W <- W*(1 - lr*weight_decay) - lr*shape*U
 *
 * Defaults: lr .1, mu .95, beta2 .95, alpha .5, eps 1e-10, eps_rel 1e-3, outer off, weight_decay
 * .0125, jordan5, shape jordan.
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

static void divide(size_t count, const double *d, double *x)
{
  for (size_t i = 0; i < count; i++) x[i] = d[i] > 0 ? x[i] / d[i] : 0;
}

static void step(ref_optimizer *r, double *w, const double *g)
{
  const size_t count = r->rows * r->cols;
  const double beta2 = ref_number(r, "beta2", 0.95), alpha = ref_number(r, "alpha", 0.5);
  const int outer = ref_number(r, "outer", 0) != 0;
  double *x = ref_zeros(count), *u = ref_zeros(count), *d = ref_zeros(count), mean = 0;
  ref_momentum(count, g, ref_number(r, "mu", 0.95), ref_number(r, "nesterov", 1) != 0,
               r->part[MOMENTUM], x);
  for (size_t i = 0; i < count; i++) {
    double *v = &r->part[SECOND][i];
    *v = beta2 * *v + (1 - beta2) * g[i] * g[i];
    d[i] = pow(*v, alpha);
    mean += d[i] / (double)count;
  }
  static const char *const floors[] = {"relative", "absolute", NULL};
  const int relative = ref_choice(r, "floors", floors, 1) == 0;
  const double eps = ref_number(r, "eps", 1e-10) * (relative ? mean : 1);
  const double floor = outer ? ref_number(r, "eps_rel", 1e-3) * mean : eps;
  for (size_t i = 0; i < count; i++) d[i] += floor;
  divide(count, d, x);
  ref_orthogonalise(r, REF_JORDAN5, REF_FROBENIUS, r->rows, r->cols, x, u);
  const double norm = ref_norm(u, count);
  if (outer) divide(count, d, u);
  if (outer && ref_number(r, "graft", 1) != 0) ref_rescale(count, norm, u);
  ref_apply(r, (ref_finish){0.1, 0.0125, REF_JORDAN}, w, u);
  free(d);
  free(u);
  free(x);
}

const ref_algorithm ref_muon2 = {"muon2", layout, step};
