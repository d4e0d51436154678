/* namo.c - NAMO (Zhang et al., 2026): Muon whose step grows and shrinks as Adam's would.
 *
 *     M <- mu*M + (1-mu)*G;  X0 = M                      (nesterov: (1-mu)*G + mu*M)
 *     v <- beta2*v + (1-beta2)*||G||^2                   one number
 *     U = NS(X0) * ||X0||/(sqrt(v)+eps)
 *     W <- W*(1 - lr*weight_decay) - lr*shape*U
 *
 * bias_correction [off, as in NVIDIA's program; the paper has it on]: ||X0||/(1-mu^t) and
 * v/(1-beta2^t) in the quotient. Defaults: lr .02, mu .95, beta2 .95, eps 1e-8, weight_decay
 * .01, jordan5, shape spectral.
 */
#include "reference/dense.h"
#include "reference/parts.h"

#include <math.h>
#include <stdlib.h>

enum { MOMENTUM, SECOND };

static void layout(const ref_optimizer *r, size_t counts[REF_PARTS])
{
  counts[MOMENTUM] = r->rows * r->cols;
  counts[SECOND] = 1;
}

static void step(ref_optimizer *r, double *w, const double *g)
{
  const size_t m = r->rows, n = r->cols;
  const double mu = ref_number(r, "mu", 0.95), beta2 = ref_number(r, "beta2", 0.95);
  const double square = ref_dot(m * n, g, g);
  double *x = ref_zeros(m * n), *u = ref_zeros(m * n), first = 1, second = 1;
  ref_momentum(m * n, g, mu, ref_number(r, "nesterov", 0) != 0, r->part[MOMENTUM], x);
  ref_average(1, &square, beta2, r->part[SECOND]);
  if (ref_number(r, "bias_correction", 0) != 0) {
    first = 1 - pow(mu, (double)r->t);
    second = 1 - pow(beta2, (double)r->t);
  }
  ref_orthogonalise(r, REF_JORDAN5, REF_FROBENIUS, m, n, x, u);
  ref_scale(u, m * n,
            ref_norm(x, m * n) / first /
                (sqrt(r->part[SECOND][0] / second) + ref_number(r, "eps", 1e-8)));
  ref_apply(r, (ref_finish){0.02, 0.01, REF_SPECTRAL}, w, u);
  free(u);
  free(x);
}

const ref_algorithm ref_namo = {"namo", layout, step};
