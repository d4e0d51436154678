/* limuon.c - LiMuon (2025): Muon on a variance-reduced momentum that can be kept at low rank.
 *
 *     H = the gradient of the same batch at the weights before this step's (input 0)
 *     t = 1: M = G.  Later: M = G + mu*(Mhat - H)
 *     U = polar(M)
 *     W <- W*(1 - lr*weight_decay) - lr*shape*U
 *     Mhat = M when rank is 0 or at least min(m,n); else by random projection, with Omega
 *     n x k normal, k = min(rank+5, m, n): Y = M*Omega;  Q = orthonormal columns of Y;  S = Q^T*M;
 *     E = the `rank` leading left singular vectors of S;  Mhat = Q*E*E^T*S
 *
 * Omega(i,j) of step t is number i*k+j of stream t of seed 0. Defaults (not verified
 * with the authors): lr .02, mu .95, rank 8, weight_decay 0, newton_schulz exact, shape none.
 */
#include "base/random.h"
#include "reference/dense.h"
#include "reference/parts.h"

#include <math.h>
#include <stdlib.h>

enum { OVERSAMPLING = 5 };

static void layout(const ref_optimizer *r, size_t counts[REF_PARTS])
{
  counts[0] = r->rows * r->cols;
}

/* Orthonormal columns from those of y (m x k), one after the other. */
static void orthonormalise(size_t m, size_t k, double *y)
{
  for (size_t pass = 0; pass < 2; pass++)
    for (size_t j = 0; j < k; j++) {
      double squares = 0;
      for (size_t p = 0; p < j; p++) {
        double dot = 0;
        for (size_t i = 0; i < m; i++) dot += y[i * k + p] * y[i * k + j];
        for (size_t i = 0; i < m; i++) y[i * k + j] -= dot * y[i * k + p];
      }
      for (size_t i = 0; i < m; i++) squares += y[i * k + j] * y[i * k + j];
      for (size_t i = 0; squares > 0 && i < m; i++) y[i * k + j] /= sqrt(squares);
    }
}

/* q (m x k) <- q*E: onto the leading left singular vectors of s (k x n), columns 0..rank. */
static void lead(size_t m, size_t n, size_t k, size_t rank, const double *s, const double *q,
                 double *out)
{
  double *gram = ref_zeros(k * k), *values = ref_zeros(k), *vectors = ref_zeros(k * k);
  double *e = ref_zeros(k * rank);
  ref_average_left(k, n, s, 0, gram);
  ref_eigh(k, gram, values, vectors);
  for (size_t i = 0; i < k; i++)
    for (size_t j = 0; j < rank; j++) e[i * rank + j] = vectors[i * k + k - 1 - j];
  ref_multiply(m, k, rank, q, e, out);
  free(e);
  free(vectors);
  free(values);
  free(gram);
}

static void compress(const ref_optimizer *r, size_t rank, double *matrix)
{
  const size_t m = r->rows, n = r->cols, small = m < n ? m : n;
  const size_t k = rank + OVERSAMPLING < small ? rank + OVERSAMPLING : small;
  double *omega = ref_zeros(n * k), *q = ref_zeros(m * k), *across = ref_zeros(m * k);
  double *s = ref_zeros(k * n), *left = ref_zeros(m * rank), *right = ref_zeros(rank * n);
  for (size_t i = 0; i < n * k; i++) omega[i] = mo_random_normal(0, r->t, i);
  ref_multiply(m, n, k, matrix, omega, q);
  orthonormalise(m, k, q);
  ref_transpose(m, k, q, across);
  ref_multiply(k, m, n, across, matrix, s);
  lead(m, n, k, rank, s, q, left);
  ref_transpose(m, rank, left, across);
  ref_multiply(rank, m, n, across, matrix, right);
  ref_multiply(m, rank, n, left, right, matrix);
  free(right);
  free(left);
  free(s);
  free(across);
  free(q);
  free(omega);
}

static void step(ref_optimizer *r, double *w, const double *g)
{
  const size_t m = r->rows, n = r->cols, small = m < n ? m : n;
  const size_t rank = (size_t)ref_number(r, "rank", 8);
  const double mu = ref_number(r, "mu", 0.95), *before = r->input[0];
  double *momentum = r->part[0], *u = ref_zeros(m * n);
  if (r->t > 1 && before == NULL) abort();
  for (size_t i = 0; i < m * n; i++)
    momentum[i] = g[i] + (r->t > 1 ? mu * (momentum[i] - before[i]) : 0);
  ref_orthogonalise(r, REF_EXACT, REF_FROBENIUS, m, n, momentum, u);
  ref_apply(r, (ref_finish){0.02, 0, REF_NONE}, w, u);
  if (rank > 0 && rank < small) compress(r, rank, momentum);
  free(u);
}

const ref_algorithm ref_limuon = {"limuon", layout, step};
