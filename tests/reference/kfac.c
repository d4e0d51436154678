/* kfac.c - K-FAC (Martens and Grosse, 2015) and Newton-Muon (2026), from covariances that the
 * caller gives: input 0 is B (m x m, of the gradients at the layer's outputs), input 1 is A
 * (n x n, of its inputs); newtonmuon has A alone, as input 0. A step without them keeps the averages as they are.
 *
 *     kfac:        A <- beta*A + (1-beta)*A_new from I;  B likewise
 *                  when (t-1) mod refresh_every == 0:  A = Q_A diag(a) Q_A^T,  B = Q_B diag(b) Q_B^T
 *                  H = Q_B [ (Q_B^T*G*Q_A)_ij/(b_i*a_j + eps) ] Q_A^T         (a, b >= 0)
 *                  H <- H*min(1, sqrt(kl_clip/(lr^2*|<H,G>|)))                (kl_clip > 0)
 *                  M <- mu*M + H;  U = M (nesterov [off]: mu*M + H)
 *     newtonmuon:  A <- beta*A + (1-beta)*A_new, from the first A_new
 *                  when (t-1) mod refresh_every == 0:  K = (A + (eps*tr(A)/n + 1e-8)*I)^-1
 *                  then muon with G*K in place of G
 *     W <- W*(1 - lr*weight_decay) - lr*U
 *
 * Defaults: kfac lr .1, mu .9, beta .95, eps 1e-3, kl_clip 1e-3, refresh_every 1, weight_decay 0;
 * newtonmuon lr .035, mu .95, nesterov on, beta .95, eps .2, refresh_every 64, weight_decay .025,
 * jordan5, shape jordan.
 */
#include "reference/dense.h"
#include "reference/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOMENTUM, OUTPUTS, INPUTS, OUTPUT_BASIS, INPUT_BASIS, OUTPUT_VALUES, INPUT_VALUES };

static void kfac_layout(const ref_optimizer *r, size_t counts[REF_PARTS])
{
  counts[MOMENTUM] = r->rows * r->cols;
  counts[OUTPUTS] = counts[OUTPUT_BASIS] = r->rows * r->rows;
  counts[INPUTS] = counts[INPUT_BASIS] = r->cols * r->cols;
  counts[OUTPUT_VALUES] = r->rows;
  counts[INPUT_VALUES] = r->cols;
}

static void average_given(ref_optimizer *r, size_t input, size_t n, double beta, double *s)
{
  if (r->input[input] != NULL) ref_average(n * n, r->input[input], beta, s);
}

static void kfac_refresh(ref_optimizer *r)
{
  ref_eigh(r->rows, r->part[OUTPUTS], r->part[OUTPUT_VALUES], r->part[OUTPUT_BASIS]);
  ref_eigh(r->cols, r->part[INPUTS], r->part[INPUT_VALUES], r->part[INPUT_BASIS]);
  for (size_t i = 0; i < r->rows; i++)
    r->part[OUTPUT_VALUES][i] = fmax(r->part[OUTPUT_VALUES][i], 0);
  for (size_t j = 0; j < r->cols; j++)
    r->part[INPUT_VALUES][j] = fmax(r->part[INPUT_VALUES][j], 0);
}

/* h becomes the preconditioned, clipped gradient. */
static void precondition(const ref_optimizer *r, const double *g, double *h)
{
  const size_t m = r->rows, n = r->cols;
  const double eps = ref_number(r, "eps", 1e-3), clip = ref_number(r, "kl_clip", 1e-3);
  const double lr = ref_number(r, "lr", 0.1);
  ref_to_basis(m, n, r->part[OUTPUT_BASIS], r->part[INPUT_BASIS], h);
  for (size_t i = 0; i < m * n; i++)
    h[i] /= r->part[OUTPUT_VALUES][i / n] * r->part[INPUT_VALUES][i % n] + eps;
  ref_from_basis(m, n, r->part[OUTPUT_BASIS], r->part[INPUT_BASIS], h);
  const double kl = lr * lr * fabs(ref_dot(m * n, h, g));
  if (clip > 0 && kl > clip) ref_scale(h, m * n, sqrt(clip / kl));
}

static void kfac_step(ref_optimizer *r, double *w, const double *g)
{
  const size_t m = r->rows, n = r->cols;
  const double beta = ref_number(r, "beta", 0.95), mu = ref_number(r, "mu", 0.9);
  double *h = ref_copy(g, m * n), *momentum = r->part[MOMENTUM];
  if (r->t == 1) {
    ref_identity(m, r->part[OUTPUTS]);
    ref_identity(n, r->part[INPUTS]);
  }
  average_given(r, 0, m, beta, r->part[OUTPUTS]);
  average_given(r, 1, n, beta, r->part[INPUTS]);
  if (ref_due(r, 1)) kfac_refresh(r);
  precondition(r, g, h);
  for (size_t i = 0; i < m * n; i++) {
    momentum[i] = mu * momentum[i] + h[i];
    h[i] = ref_number(r, "nesterov", 0) != 0 ? mu * momentum[i] + h[i] : momentum[i];
  }
  ref_apply(r, (ref_finish){0.1, 0, REF_NONE}, w, h);
  free(h);
}

enum { COVARIANCE = 1, INVERSE };

static void newton_layout(const ref_optimizer *r, size_t counts[REF_PARTS])
{
  counts[MOMENTUM] = r->rows * r->cols;
  counts[COVARIANCE] = counts[INVERSE] = r->cols * r->cols;
}

static void newton_step(ref_optimizer *r, double *w, const double *g)
{
  const size_t m = r->rows, n = r->cols;
  double *x = ref_zeros(m * n), *u = ref_zeros(m * n), *k = ref_copy(g, m * n);
  double *a = r->part[COVARIANCE];
  average_given(r, 0, n, r->t == 1 ? 0 : ref_number(r, "beta", 0.95), a);
  if (ref_due(r, 64))
    ref_power(n, a, -1, ref_number(r, "eps", 0.2) * ref_trace(n, a) / (double)n + 1e-8, 0,
              r->part[INVERSE]);
  ref_sandwich(m, n, NULL, r->part[INVERSE], k);
  ref_momentum(m * n, k, ref_number(r, "mu", 0.95), ref_number(r, "nesterov", 1) != 0,
               r->part[MOMENTUM], x);
  ref_orthogonalise(r, REF_JORDAN5, REF_FROBENIUS, m, n, x, u);
  ref_apply(r, (ref_finish){0.035, 0.025, REF_JORDAN}, w, u);
  free(k);
  free(u);
  free(x);
}

const ref_algorithm ref_kfac = {"kfac", kfac_layout, kfac_step};
const ref_algorithm ref_newtonmuon = {"newtonmuon", newton_layout, newton_step};
