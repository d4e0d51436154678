/* sgd.c - M <- mu*M + G; w <- w*(1 - lr*wd); w <- w - lr*(nesterov ? mu*M + G : M).
 * Defaults: lr 0.01, mu 0.9, nesterov off, weight_decay 0. */
#include "reference/reference.h"

static void layout(const ref_optimizer *r, size_t counts[REF_PARTS])
{
  counts[0] = r->rows * r->cols;
}

static void step(ref_optimizer *r, double *w, const double *g)
{
  const double lr = ref_number(r, "lr", 0.01), decay = ref_number(r, "weight_decay", 0);
  const double mu = ref_number(r, "mu", 0.9);
  const int nesterov = ref_number(r, "nesterov", 0) != 0;
  double *momentum = r->part[0];
  for (size_t i = 0; i < r->rows * r->cols; i++) {
    momentum[i] = mu * momentum[i] + g[i];
    w[i] *= 1 - lr * decay;
    w[i] -= lr * (nesterov ? mu * momentum[i] + g[i] : momentum[i]);
  }
}

const ref_algorithm ref_sgd = {"sgd", layout, step};
