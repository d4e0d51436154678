/* sumo.c - SUMO (Refael et al., 2025): Muon in the leading subspace of the gradient.
 *
 *     on the shorter side (m <= n; else everything transposed), k = min(rank, m):
 *     when (t-1) mod refresh_every == 0 or there is no Q yet, and G != 0:
 *         Qn = the k leading left singular vectors of G; a column whose singular value is at most
 *         1e-6 of the largest is 0.  M <- (Qn^T*Q)*M;  Q <- Qn
 *     H = Q^T*G;  M <- mu*M + H;  O = polar(M)
 *     limit > 0 and t > 1:  if ||O|| > limit*||O_before|| > 0:  O <- O*limit*||O_before||/||O||
 *     U = Q*O + residual*(G - Q*H)
 *     W <- W*(1 - lr*weight_decay) - lr*shape*U
 *
 * Defaults (not the authors': those are not published): lr .02, mu .95, rank 16, refresh_every
 * 200, limit 1.1, residual 0, weight_decay 0, newton_schulz exact, shape none.
 */
#include "reference/dense.h"
#include "reference/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOMENTUM, BASIS, NORM };

static size_t small(const ref_optimizer *r)
{
  return r->rows < r->cols ? r->rows : r->cols;
}

static size_t rank(const ref_optimizer *r)
{
  const size_t wanted = (size_t)ref_number(r, "rank", 16);
  return wanted < small(r) ? wanted : small(r);
}

static void layout(const ref_optimizer *r, size_t counts[REF_PARTS])
{
  const size_t large = r->rows > r->cols ? r->rows : r->cols;
  counts[MOMENTUM] = rank(r) * large;
  counts[BASIS] = small(r) * rank(r);
  counts[NORM] = 1;
}

/* q (m x k): see Qn above. */
static void leading(size_t m, size_t n, size_t k, const double *g, double *q)
{
  double *gram = ref_zeros(m * m), *values = ref_zeros(m), *vectors = ref_zeros(m * m);
  ref_average_left(m, n, g, 0, gram);
  ref_eigh(m, gram, values, vectors);
  for (size_t j = 0; j < k; j++) {
    const int kept = values[m - 1 - j] > 1e-12 * values[m - 1];
    for (size_t i = 0; i < m; i++) q[i * k + j] = kept ? vectors[i * m + m - 1 - j] : 0;
  }
  free(vectors);
  free(values);
  free(gram);
}

/* Qn and the momentum in it. */
static void move_subspace(ref_optimizer *r, size_t m, size_t n, const double *g)
{
  const size_t k = rank(r);
  double *q = ref_zeros(m * k), *across = ref_zeros(k * m), *turn = ref_zeros(k * k);
  double *moved = ref_zeros(k * n);
  leading(m, n, k, g, q);
  ref_transpose(m, k, q, across);
  ref_multiply(k, m, k, across, r->part[BASIS], turn);
  ref_multiply(k, k, n, turn, r->part[MOMENTUM], moved);
  memcpy(r->part[MOMENTUM], moved, k * n * sizeof *moved);
  memcpy(r->part[BASIS], q, m * k * sizeof *q);
  free(moved);
  free(turn);
  free(across);
  free(q);
}

static void limit(ref_optimizer *r, size_t count, double *o)
{
  const double most = ref_number(r, "limit", 1.1) * r->part[NORM][0];
  if (most > 0 && ref_norm(o, count) > most) ref_rescale(count, most, o);
  r->part[NORM][0] = ref_norm(o, count);
}

/* u (m x n) from g (m x n), m <= n. */
static void wide_update(ref_optimizer *r, size_t m, size_t n, const double *g, double *u)
{
  const size_t k = rank(r);
  const double residual = ref_number(r, "residual", 0), mu = ref_number(r, "mu", 0.95);
  double *across = ref_zeros(k * m), *h = ref_zeros(k * n), *o = ref_zeros(k * n);
  double *inside = ref_zeros(m * n), *momentum = r->part[MOMENTUM];
  const int due = ref_due(r, 200) || ref_norm(r->part[BASIS], m * k) == 0;
  if (due && ref_norm(g, m * n) > 0) move_subspace(r, m, n, g);
  ref_transpose(m, k, r->part[BASIS], across);
  ref_multiply(k, m, n, across, g, h);
  for (size_t i = 0; i < k * n; i++) momentum[i] = mu * momentum[i] + h[i];
  ref_orthogonalise(r, REF_EXACT, REF_FROBENIUS, k, n, momentum, o);
  limit(r, k * n, o);
  ref_multiply(m, k, n, r->part[BASIS], o, u);
  ref_multiply(m, k, n, r->part[BASIS], h, inside);
  for (size_t i = 0; i < m * n; i++) u[i] += residual * (g[i] - inside[i]);
  free(inside);
  free(o);
  free(h);
  free(across);
}

static void step(ref_optimizer *r, double *w, const double *g)
{
  const size_t m = r->rows, n = r->cols;
  double *u = ref_zeros(m * n), *across = ref_zeros(m * n), *u_across = ref_zeros(m * n);
  if (m <= n) {
    wide_update(r, m, n, g, u);
  } else {
    ref_transpose(m, n, g, across);
    wide_update(r, n, m, across, u_across);
    ref_transpose(n, m, u_across, u);
  }
  ref_apply(r, (ref_finish){0.02, 0, REF_NONE}, w, u);
  free(u_across);
  free(across);
  free(u);
}

const ref_algorithm ref_sumo = {"sumo", layout, step};
