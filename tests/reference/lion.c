/* lion.c - u = sign(b1*m + (1-b1)*g); m <- b2*m + (1-b2)*g; w <- w*(1 - lr*wd) - lr*u;
 * sign(0) = 0. Defaults: lr 1e-4, beta1 .95, beta2 .98, weight_decay 0.01. */
#include "reference/reference.h"

static void layout(const ref_optimizer *r, size_t counts[REF_PARTS])
{
  counts[0] = r->rows * r->cols;
}

static void step(ref_optimizer *r, double *w, const double *g)
{
  const double lr = ref_number(r, "lr", 1e-4), decay = ref_number(r, "weight_decay", 0.01);
  const double beta1 = ref_number(r, "beta1", 0.95), beta2 = ref_number(r, "beta2", 0.98);
  double *m = r->part[0];
  for (size_t i = 0; i < r->rows * r->cols; i++) {
    const double mix = beta1 * m[i] + (1 - beta1) * g[i];
    w[i] = w[i] * (1 - lr * decay) - lr * (mix > 0 ? 1 : mix < 0 ? -1 : 0);
    m[i] = beta2 * m[i] + (1 - beta2) * g[i];
  }
}

const ref_algorithm ref_lion = {"lion", layout, step};
