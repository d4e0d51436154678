/* sinksoap.c - SinkSOAP (modded-nanogpt track 3, 2026): rows and columns balanced in the basis.
 *
 *     L <- beta*L + (1-beta)*G*G^T;  R <- beta*R + (1-beta)*G^T*G      the present gradient too
 *     when (t-1) mod refresh_every == 0:  Q_L, Q_R = the eigenvectors of L, R
 *     M <- mu*M + (1-mu)*G;  X0 = (1-mu)*G + mu*M                       (nesterov [on], else M)
 *     A = Q_L^T*X0*Q_R;  B = A^2 + e;  c = 1;  `sinkhorn` times:
 *         r_i = (1/m)/(sum_j B_ij*c_j + e);  c_j = (1/n)/(sum_i B_ij*r_i + e)
 *     U = Q_L [ A_ij*sqrt(r_i*c_j) ] Q_R^T;  U <- U*sqrt(min(m,n))/||U||
 *     m != n:  normuon's statistic along the longer side, with max(sqrt(V), 1e-10)
 *     W <- W*(1 - lr*weight_decay) - lr*shape*U
 *
 * floors relative [default]: A is divided by its RMS first; absolute: it is not. e = eps.
 * Defaults: lr .04, mu .95, beta .95, beta2 .95, eps 1e-8, sinkhorn 10, refresh_every 1,
 * weight_decay .025, shape jordan.
 */
#include "reference/dense.h"
#include "reference/parts.h"

#include <math.h>
#include <stdlib.h>

enum { MOMENTUM, SECOND, LEFT, RIGHT, BASIS_LEFT, BASIS_RIGHT };

static void layout(const ref_optimizer *r, size_t counts[REF_PARTS])
{
  counts[MOMENTUM] = r->rows * r->cols;
  counts[SECOND] = r->rows > r->cols ? r->rows : r->cols;
  counts[LEFT] = counts[BASIS_LEFT] = r->rows * r->rows;
  counts[RIGHT] = counts[BASIS_RIGHT] = r->cols * r->cols;
}

/* lines[i] = (1/d)/(sum_j b_ij*other_j + e) for the d rows, or likewise for the d columns. */
static void balance(size_t m, size_t n, int rows, const double *b, double e,
                    const double *other, double *lines)
{
  const size_t d = rows ? m : n;
  for (size_t i = 0; i < d; i++) lines[i] = e;
  for (size_t i = 0; i < m * n; i++)
    lines[rows ? i / n : i % n] += b[i] * other[rows ? i % n : i / n];
  for (size_t i = 0; i < d; i++) lines[i] = 1 / (double)d / lines[i];
}

static void sinkhorn(const ref_optimizer *r, double *a)
{
  static const char *const floors[] = {"relative", "absolute", NULL};
  const size_t m = r->rows, n = r->cols, times = (size_t)ref_number(r, "sinkhorn", 10);
  const double e = ref_number(r, "eps", 1e-8);
  double *b = ref_zeros(m * n), *row = ref_zeros(m), *column = ref_zeros(n);
  if (ref_choice(r, "floors", floors, 0) == 0) ref_rescale(m * n, sqrt((double)(m * n)), a);
  for (size_t i = 0; i < m; i++) row[i] = 1;
  for (size_t j = 0; j < n; j++) column[j] = 1;
  for (size_t i = 0; i < m * n; i++) b[i] = a[i] * a[i] + e;
  for (size_t k = 0; k < times; k++) {
    balance(m, n, 1, b, e, column, row);
    balance(m, n, 0, b, e, row, column);
  }
  for (size_t i = 0; i < m * n; i++) a[i] *= sqrt(row[i / n] * column[i % n]);
  free(column);
  free(row);
  free(b);
}

static void step(ref_optimizer *r, double *w, const double *g)
{
  const size_t m = r->rows, n = r->cols;
  const double beta = ref_number(r, "beta", 0.95);
  double *u = ref_zeros(m * n);
  ref_average_left(m, n, g, beta, r->part[LEFT]);
  ref_average_right(m, n, g, beta, r->part[RIGHT]);
  if (ref_due(r, 1)) {
    ref_eigenbasis(m, r->part[LEFT], r->part[BASIS_LEFT]);
    ref_eigenbasis(n, r->part[RIGHT], r->part[BASIS_RIGHT]);
  }
  ref_momentum(m * n, g, ref_number(r, "mu", 0.95), ref_number(r, "nesterov", 1) != 0,
               r->part[MOMENTUM], u);
  ref_to_basis(m, n, r->part[BASIS_LEFT], r->part[BASIS_RIGHT], u);
  sinkhorn(r, u);
  ref_from_basis(m, n, r->part[BASIS_LEFT], r->part[BASIS_RIGHT], u);
  ref_rescale(m * n, sqrt(fmin((double)m, (double)n)), u);
  if (m != n) ref_equalise(r, m > n, ref_number(r, "beta2", 0.95), 0, r->part[SECOND], u);
  ref_apply(r, (ref_finish){0.04, 0.025, REF_JORDAN}, w, u);
  free(u);
}

const ref_algorithm ref_sinksoap = {"sinksoap", layout, step};
