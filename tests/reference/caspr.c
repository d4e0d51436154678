/* caspr.c - CASPR (Duvvuri et al., 2024): Shampoo with a sum in place of the product.
 *
 *     L <- beta*L + (1-beta)*G*G^T;  R <- beta*R + (1-beta)*G^T*G      from zero
 *     when (t-1) mod refresh_every == 0:
 *         Lc = L/(1-beta^t);  e = eps*tr(Lc)/m;  a = (Lc + e*I)^(-1/4);  c = (R + e'*I)^(-1/4)  with e' = eps*tr(R)/n
 *     M <- mu*M + (1-mu)*G;  X0 = (1-mu)*G + mu*M                       (nesterov [on], else M)
 *     Y = a*X0 + X0*c;  U = a*Y + Y*c
 *     v <- beta2*v + (1-beta2)*G^2
 *     graft: U <- U/||U|| * || X0/(1-mu^t) / (sqrt(v/(1-beta2^t)) + 1e-8) ||   (adam [default])
 *            U <- U/||U|| * ||X0/(1-mu^t)||                                      (sgd)
 *            U <- U/(1-mu^t)                                                     (none)
 *     W <- W*(1 - lr*weight_decay) - lr*U
 *
 * Statistics that are 0, and sides not among `sides`, have the power I. block: each diagonal block by
 * itself. refresh = qr: as parts.h has it. Defaults: lr .001, mu .9, beta .999, beta2 .999, eps
 * 1e-6, refresh_every 20, weight_decay 0.
 */
#include "reference/dense.h"
#include "reference/parts.h"

#include <math.h>
#include <stdlib.h>

enum { MOMENTUM, SECOND, LEFT, RIGHT, POWER_LEFT, POWER_RIGHT, BASIS_LEFT, BASIS_RIGHT };

static void layout(const ref_optimizer *r, size_t counts[REF_PARTS])
{
  counts[MOMENTUM] = counts[SECOND] = r->rows * r->cols;
  counts[LEFT] = counts[POWER_LEFT] = counts[BASIS_LEFT] = r->rows * r->rows;
  counts[RIGHT] = counts[POWER_RIGHT] = counts[BASIS_RIGHT] = r->cols * r->cols;
}

static void root(const ref_optimizer *r, size_t n, double *s, double *basis, double *out)
{
  const double damping = ref_number(r, "eps", 1e-6) * ref_trace(n, s) / (double)n;
  double *values = ref_zeros(n), *vectors = ref_zeros(n * n);
  ref_decompose(r, n, s, basis, values, vectors);
  if (damping > 0) ref_power_of(n, values, vectors, -0.25, damping, 0, out);
  free(vectors);
  free(values);
  const double correction = 1 - pow(ref_number(r, "beta", 0.999), (double)r->t);
  ref_scale(out, n * n, pow(correction, 0.25));
  if (damping <= 0) ref_identity(n, out);
}

static void refresh(const ref_optimizer *r, int left)
{
  const size_t n = left ? r->rows : r->cols;
  double *power = r->part[left ? POWER_LEFT : POWER_RIGHT];
  if (ref_has_side(r, REF_BOTH, left))
    ref_by_blocks(r, n, r->part[left ? LEFT : RIGHT], root,
                  r->part[left ? BASIS_LEFT : BASIS_RIGHT], power);
  else
    ref_identity(n, power);
}

/* u <- a*u + u*c */
static void spread(const ref_optimizer *r, double *u)
{
  const size_t m = r->rows, n = r->cols;
  double *left = ref_copy(u, m * n);
  ref_sandwich(m, n, r->part[POWER_LEFT], NULL, left);
  ref_sandwich(m, n, NULL, r->part[POWER_RIGHT], u);
  for (size_t i = 0; i < m * n; i++) u[i] += left[i];
  free(left);
}

static void graft(const ref_optimizer *r, const double *x, double *u)
{
  enum { ADAM, SGD, NONE };
  static const char *const names[] = {"adam", "sgd", "none", NULL};
  const size_t count = r->rows * r->cols, rule = ref_choice(r, "graft", names, ADAM);
  const double first = 1 - pow(ref_number(r, "mu", 0.9), (double)r->t);
  const double second = 1 - pow(ref_number(r, "beta2", 0.999), (double)r->t);
  double squares = 0;
  if (rule == NONE) ref_scale(u, count, 1 / first);
  if (rule == NONE) return;
  for (size_t i = 0; i < count; i++) {
    const double divisor = rule == ADAM ? sqrt(r->part[SECOND][i] / second) + 1e-8 : 1;
    squares += x[i] / first / divisor * (x[i] / first / divisor);
  }
  ref_rescale(count, sqrt(squares), u);
}

static void step(ref_optimizer *r, double *w, const double *g)
{
  const size_t m = r->rows, n = r->cols;
  const double beta = ref_number(r, "beta", 0.999), beta2 = ref_number(r, "beta2", 0.999);
  double *x = ref_zeros(m * n);
  ref_average_left(m, n, g, beta, r->part[LEFT]);
  ref_average_right(m, n, g, beta, r->part[RIGHT]);
  if (ref_due(r, 20)) {
    refresh(r, 1);
    refresh(r, 0);
  }
  ref_momentum(m * n, g, ref_number(r, "mu", 0.9), ref_number(r, "nesterov", 1) != 0,
               r->part[MOMENTUM], x);
  for (size_t i = 0; i < m * n; i++)
    r->part[SECOND][i] = beta2 * r->part[SECOND][i] + (1 - beta2) * g[i] * g[i];
  double *u = ref_copy(x, m * n);
  spread(r, u);
  spread(r, u);
  graft(r, x, u);
  ref_apply(r, (ref_finish){0.001, 0, REF_NONE}, w, u);
  free(u);
  free(x);
}

const ref_algorithm ref_caspr = {"caspr", layout, step};
