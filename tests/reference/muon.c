/* muon.c - M <- mu*M + G; X0 = mu*M + G (nesterov [on], else M); U = NS(X0); decay and step as
 * mousse. Defaults: lr 0.02, mu 0.95, weight_decay 0.01, shape spectral, you5. */
#include "reference/dense.h"
#include "reference/reference.h"

#include <stdlib.h>

static void layout(const ref_optimizer *r, size_t counts[REF_PARTS])
{
  counts[0] = r->rows * r->cols;
}

static void step(ref_optimizer *r, double *w, const double *g)
{
  const size_t count = r->rows * r->cols;
  const double mu = ref_number(r, "mu", 0.95);
  const int nesterov = ref_number(r, "nesterov", 1) != 0;
  double *momentum = r->part[0], *x = ref_zeros(count), *u = ref_zeros(count);
  for (size_t i = 0; i < count; i++) {
    momentum[i] = mu * momentum[i] + g[i];
    x[i] = nesterov ? mu * momentum[i] + g[i] : momentum[i];
  }
  ref_newton_schulz(r, x, u);
  ref_apply_spectral(r, w, u);
  free(u);
  free(x);
}

const ref_algorithm ref_muon = {"muon", layout, step};
