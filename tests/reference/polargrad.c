/* polargrad.c - PolarGrad (Lau et al., 2025): the polar factor times the nuclear norm.
 *
 *     momentum_first:  M <- mu*M + (1-mu)*G;  X0 = M (nesterov: (1-mu)*G + mu*M)
 *                      O = polar(X0);  U = <X0,O>*O
 *     polar_first:     O = polar(G);  M <- mu*M + (1-mu)*O;  X0 as above of O;  U = <G,O>*X0
 *     W <- W*(1 - lr*weight_decay) - lr*U
 *
 * Defaults: lr .02, mu .95, nesterov off, weight_decay 0, newton_schulz exact, momentum_first.
 */
#include "reference/dense.h"
#include "reference/parts.h"

#include <stdlib.h>

static void layout(const ref_optimizer *r, size_t counts[REF_PARTS])
{
  counts[0] = r->rows * r->cols;
}

static void step(ref_optimizer *r, double *w, const double *g)
{
  static const char *const orders[] = {"momentum_first", "polar_first", NULL};
  const size_t m = r->rows, n = r->cols;
  const double mu = ref_number(r, "mu", 0.95);
  const int nesterov = ref_number(r, "nesterov", 0) != 0;
  double *x = ref_zeros(m * n), *o = ref_zeros(m * n);
  if (ref_choice(r, "order", orders, 0) == 0) {
    ref_momentum(m * n, g, mu, nesterov, r->part[0], x);
    ref_orthogonalise(r, REF_EXACT, REF_FROBENIUS, m, n, x, o);
    ref_scale(o, m * n, ref_dot(m * n, x, o));
    ref_apply(r, (ref_finish){0.02, 0, REF_NONE}, w, o);
  } else {
    ref_orthogonalise(r, REF_EXACT, REF_FROBENIUS, m, n, g, o);
    ref_momentum(m * n, o, mu, nesterov, r->part[0], x);
    ref_scale(x, m * n, ref_dot(m * n, g, o));
    ref_apply(r, (ref_finish){0.02, 0, REF_NONE}, w, x);
  }
  free(o);
  free(x);
}

const ref_algorithm ref_polargrad = {"polargrad", layout, step};
