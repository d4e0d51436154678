/* adamw.c - m <- b1*m + (1-b1)*g; v <- b2*v + (1-b2)*g^2; w <- w*(1 - lr*wd);
 * w <- w - lr * (m/(1-b1^t)) / (sqrt(v/(1-b2^t)) + eps).
 * Defaults: lr 1e-3, beta1 .9, beta2 .95, eps 1e-8, weight_decay 0.01. */
#include "reference/reference.h"

#include <math.h>

static void layout(const ref_optimizer *r, size_t counts[REF_PARTS])
{
  counts[0] = counts[1] = r->rows * r->cols;
}

static void step(ref_optimizer *r, double *w, const double *g)
{
  const double lr = ref_number(r, "lr", 1e-3), decay = ref_number(r, "weight_decay", 0.01);
  const double beta1 = ref_number(r, "beta1", 0.9), beta2 = ref_number(r, "beta2", 0.95);
  const double eps = ref_number(r, "eps", 1e-8);
  double *m = r->part[0], *v = r->part[1];
  for (size_t i = 0; i < r->rows * r->cols; i++) {
    m[i] = beta1 * m[i] + (1 - beta1) * g[i];
    v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
    const double mean = m[i] / (1 - pow(beta1, (double)r->t));
    const double square = v[i] / (1 - pow(beta2, (double)r->t));
    w[i] *= 1 - lr * decay;
    w[i] -= lr * mean / (sqrt(square) + eps);
  }
}

const ref_algorithm ref_adamw = {"adamw", layout, step};
