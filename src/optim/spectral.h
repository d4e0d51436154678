/* spectral.h - whiten, orthogonalise, unwhiten: the pipeline of the spectral optimizers.
 *
 *     X = P_L X0 P_R      N = NS(X)      U = P_L N P_R      graft: U <- ||N|| U / ||U||
 *
 * With both P absent this is Muon. Newton-Schulz commutes with products by orthogonal matrices,
 * so the symmetric roots P serve for the rotate-and-scale of the paper.
 *
 * Two ways to the same numbers:
 *   plain   as written;
 *   fused   with K = P^2 on the long side and P on the short one (written for a wide X0)
 *               Y = X0 K,  A = P Y X0^T P / ||X||^2,  U = (P p(A) P) Y / ||X||
 *           so that the long side is multiplied once and the iteration runs on the short one.
 */
#ifndef MOUSSE_OPTIM_SPECTRAL_H
#define MOUSSE_OPTIM_SPECTRAL_H

#include "linalg/newton_schulz.h"
#include "optim/shape_scale.h"
#include "optim/telemetry.h"

/* Options that the algorithms of this family share. */
#define MO_OPTION_MU(config)                                                                   \
  MO_NUMBER(config, mu, 0.95, 0, MO_BETA_MAX, "decay of the momentum")
#define MO_OPTION_NESTEROV(config, first)                                                      \
  MO_SWITCH(config, nesterov, first, 0, "look ahead: momentum plus the newest gradient")
#define MO_OPTION_NEWTON_SCHULZ(config)                                                        \
  MO_CHOICE(config, newton_schulz, mo_newton_schulz_names, MO_YOU5, 1,                         \
            "polynomial of the orthogonalisation; exact: by singular values")
#define MO_OPTION_SHAPE(config)                                                                \
  MO_CHOICE(config, shape, mo_shape_rule_names, 0, 0,                                          \
            "step by matrix shape: sqrt(m/n), 0.2 sqrt(max(m,n)), sqrt(max(1,m/n)), 1")

typedef struct mo_spectral {
  mo_shape shape;
  mo_newton_schulz_set set;
  mo_side left, right; /* size 0: absent */
  bool fused, outer, graft;
} mo_spectral;

/* The fused form needs `outer` and a polynomial (not `exact`); whether it is then the cheaper
 * one depends on the shape and the sides. */
bool mo_spectral_fused_possible(const mo_spectral *pipeline);
bool mo_spectral_fused_pays(const mo_spectral *pipeline);

double mo_spectral_flops(const mo_spectral *pipeline);

/* The power of a side's root: alpha, or 2 alpha where the fused form wants P^2. */
double mo_spectral_power(const mo_spectral *pipeline, mo_side side, double alpha);

/* u = the update for x0; epsilon is Newton-Schulz's 1e-7 in the units of x0. The pair of an
 * absent side is not looked at. An x0 of zeros gives zeros. Where the fused form fails, x0 is
 * orthogonalised as it is, and that is counted. Notes ns_residual,
 * ||N N^T - I||_F / sqrt(rank side). */
size_t mo_spectral_floats(const mo_spectral *pipeline); /* of work */
void mo_spectral_update(const mo_spectral *pipeline, const float *x0, const float *left_fold,
                        const float *right_fold, double epsilon, float *u, float *work,
                        mo_counts *counts, mo_telemetry *telemetry);

/* W <- W (1 - lr weight_decay) - lr shape(m, n) U. Notes update_rms, the RMS of shape(m, n) U.
 */
void mo_spectral_step(const mo_update *u, const float *direction, double lr,
                      double weight_decay, double shape_rule);

#endif
