/* dion2.c - Dion2 (2025): only the heaviest rows of the momentum move in a step.
 *
 *     M <- M + G
 *     lines: rows when m <= n, else columns.  I = the k = ceil(fraction*lines) lines with the
 *     largest sum of magnitudes; of equal ones the first
 *     U[I] = NS(M[I]), 0 elsewhere;  M[I] <- mu*M[I]
 *     W <- W*(1 - lr*weight_decay) - lr*shape(m,n)*U
 *
 * Defaults: lr .01, mu .95, fraction .25, weight_decay .01, polar5, shape spectral.
 */
#include "reference/dense.h"
#include "reference/parts.h"

#include <math.h>
#include <stdlib.h>

static void layout(const ref_optimizer *r, size_t counts[REF_PARTS])
{
  counts[0] = r->rows * r->cols;
}

/* chosen[i] != 0 for the k largest scores. */
static void choose(size_t count, const double *scores, size_t k, int *chosen)
{
  for (size_t taken = 0; taken < k; taken++) {
    size_t best = count;
    for (size_t i = 0; i < count; i++)
      if (!chosen[i] && (best == count || scores[i] > scores[best])) best = i;
    chosen[best] = 1;
  }
}

/* Copies the chosen rows of all (m x n) to some, or back. */
static void gather(size_t m, size_t n, const int *chosen, double *all, double *some, int back)
{
  for (size_t i = 0; i < m; i++) {
    if (!chosen[i]) continue;
    for (size_t j = 0; j < n; j++, some++)
      if (back)
        all[i * n + j] = *some;
      else
        *some = all[i * n + j];
  }
}

/* u of m x n from the momentum of m x n, by rows. */
static void select_rows(const ref_optimizer *r, size_t m, size_t n, double *momentum, double *u)
{
  const double mu = ref_number(r, "mu", 0.95);
  const size_t k = (size_t)ceil(ref_number(r, "fraction", 0.25) * (double)m);
  double *scores = ref_zeros(m), *some = ref_zeros(k * n), *out = ref_zeros(k * n);
  int *chosen = calloc(m, sizeof *chosen);
  if (chosen == NULL) abort();
  for (size_t i = 0; i < m * n; i++) scores[i / n] += fabs(momentum[i]);
  choose(m, scores, k, chosen);
  gather(m, n, chosen, momentum, some, 0);
  ref_orthogonalise(r, REF_POLAR5, REF_FROBENIUS, k, n, some, out);
  gather(m, n, chosen, u, out, 1);
  ref_scale(some, k * n, mu);
  gather(m, n, chosen, momentum, some, 1);
  free(chosen);
  free(out);
  free(some);
  free(scores);
}

static void step(ref_optimizer *r, double *w, const double *g)
{
  const size_t m = r->rows, n = r->cols;
  double *u = ref_zeros(m * n), *momentum = r->part[0];
  for (size_t i = 0; i < m * n; i++) momentum[i] += g[i];
  if (m <= n) {
    select_rows(r, m, n, momentum, u);
  } else {
    double *across = ref_zeros(m * n), *u_across = ref_zeros(m * n);
    ref_transpose(m, n, momentum, across);
    select_rows(r, n, m, across, u_across);
    ref_transpose(n, m, across, momentum);
    ref_transpose(n, m, u_across, u);
    free(u_across);
    free(across);
  }
  ref_apply(r, (ref_finish){0.01, 0.01, REF_SPECTRAL}, w, u);
  free(u);
}

const ref_algorithm ref_dion2 = {"dion2", layout, step};
