/* klshampoo.c - KL-Shampoo: each side whitened while the other's statistics are taken (Lin et al.,
 * arXiv:2509.03378).
 *
 *     the first step makes the basis: eigenvectors of G G^T / n and G^T G / m
 *     M <- mu M + (1 - mu) G
 *     U = Q_L [ (Q_L^T M Q_R) o h/(1 + eps h) ] Q_R^T        h_ij = (lamL_i lamR_j)^(-1/2)
 *     W <- (W - lr U) (1 - lr weight_decay)
 *     then the statistics of kl.c; every refresh_every steps Q <- qr(L Q)
 */
#include "optim/stages/kl.h"

static const mo_option options[] =
    MO_KL_OPTIONS(MO_STAGE_NUMBER(eps, 1e-8, 0, 1e3, "damping of the inverse root"));

static const mo_recipe recipe = MO_KL_RECIPE(MO_INNER_KL_SHAMPOO);

MO_PIPELINE(klshampoo, "Shampoo with factors of least divergence (arXiv:2509.03378)", options,
            recipe)
