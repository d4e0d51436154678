/* asgo.c - ASGO (An et al., 2025): one side whitened in full; and DASGO, its diagonal.
 *
 *     M <- mu*M + (1-mu)*G                               (nesterov off; else (1-mu)*G + mu*M)
 *     asgo:   V <- beta2*V + (1-beta2)*C,  C = G*G^T if m < n, else G^T*G
 *             U = V^(-1/2)*M or M*V^(-1/2), the root renewed when (t-1) mod refresh_every [1] == 0
 *     dasgo:  v_j <- beta2*v_j + (1-beta2)*sum_i G_ij^2;  U = M/sqrt(v+eps)
 *     U <- U * 0.2*sqrt(m*n)/||U||
 *     W <- W*(1 - lr*weight_decay) - lr*U
 *
 * V^(-1/2) leaves out directions whose eigenvalue is at most eps times the largest. V = 0: the
 * identity. Defaults: lr .01, mu .9, beta2 .8, eps 1e-6, weight_decay .1; dasgo lr .001, beta2
 * .95, eps 1e-8.
 */
#include "reference/dense.h"
#include "reference/parts.h"

#include <math.h>
#include <stdlib.h>

enum { MOMENTUM, STATISTICS, ROOT };

static void layout(const ref_optimizer *r, size_t counts[REF_PARTS])
{
  const size_t small = r->rows < r->cols ? r->rows : r->cols;
  counts[MOMENTUM] = r->rows * r->cols;
  counts[STATISTICS] = counts[ROOT] = small * small;
}

/* u has the RMS 0.2. */
static void finish(const ref_optimizer *r, double lr, double *w, double *u)
{
  const double count = (double)(r->rows * r->cols);
  ref_rescale(r->rows * r->cols, 0.2 * sqrt(count), u);
  ref_apply(r, (ref_finish){lr, 0.1, REF_NONE}, w, u);
}

static void inverse_root(const ref_optimizer *r, size_t n, const double *s, double *root)
{
  double *values = ref_zeros(n), *vectors = ref_zeros(n * n);
  ref_eigh(n, s, values, vectors);
  const double cut = ref_number(r, "eps", 1e-6) * values[n - 1];
  ref_power(n, s, -0.5, 0, cut, root);
  if (values[n - 1] <= 0) ref_identity(n, root);
  free(vectors);
  free(values);
}

static void asgo_step(ref_optimizer *r, double *w, const double *g)
{
  const size_t m = r->rows, n = r->cols, small = m < n ? m : n;
  const double beta2 = ref_number(r, "beta2", 0.8);
  double *u = ref_zeros(m * n), *root = r->part[ROOT], *v = r->part[STATISTICS];
  ref_momentum(m * n, g, ref_number(r, "mu", 0.9), ref_number(r, "nesterov", 0) != 0,
               r->part[MOMENTUM], u);
  if (m < n)
    ref_average_left(m, n, g, beta2, v);
  else
    ref_average_right(m, n, g, beta2, v);
  if (ref_due(r, 1)) inverse_root(r, small, v, root);
  ref_sandwich(m, n, m < n ? root : NULL, m < n ? NULL : root, u);
  finish(r, 0.01, w, u);
  free(u);
}

static void dasgo_layout(const ref_optimizer *r, size_t counts[REF_PARTS])
{
  counts[MOMENTUM] = r->rows * r->cols;
  counts[STATISTICS] = r->cols;
}

static void dasgo_step(ref_optimizer *r, double *w, const double *g)
{
  const size_t m = r->rows, n = r->cols;
  double *u = ref_zeros(m * n), *sums = ref_zeros(n), *v = r->part[STATISTICS];
  ref_momentum(m * n, g, ref_number(r, "mu", 0.9), ref_number(r, "nesterov", 0) != 0,
               r->part[MOMENTUM], u);
  for (size_t i = 0; i < m * n; i++) sums[i % n] += g[i] * g[i];
  ref_average(n, sums, ref_number(r, "beta2", 0.95), v);
  for (size_t i = 0; i < m * n; i++) {
    const double square = v[i % n] + ref_number(r, "eps", 1e-8);
    u[i] = square > 0 ? u[i] / sqrt(square) : 0;
  }
  finish(r, 0.001, w, u);
  free(sums);
  free(u);
}

const ref_algorithm ref_asgo = {"asgo", layout, asgo_step};
const ref_algorithm ref_dasgo = {"dasgo", dasgo_layout, dasgo_step};
