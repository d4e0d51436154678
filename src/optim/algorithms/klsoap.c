/* klsoap.c - KL-SOAP: Adam in the eigenbasis of KL-Shampoo's statistics (Lin et al.,
 * arXiv:2509.03378).
 *
 *     the first step makes the basis: eigenvectors of G G^T / n and G^T G / m
 *     Z = Q_L^T G Q_R      m, v: first and second moment of Z, by mu and beta2, not corrected
 *     U = Q_L [ m / (sqrt(v) + eps) ] Q_R^T
 *     W <- (W - lr U) (1 - lr weight_decay)
 *     then the statistics of kl.c; every refresh_every steps Q <- qr(L Q), m is carried over
 */
#include "optim/stages/kl.h"

static const mo_option options[] = MO_KL_OPTIONS(
    MO_STAGE_BETA2(0.98, "decay of the second moment in the basis"),
    MO_STAGE_NUMBER(eps, 1e-8, 1e-20, 1e3, "added to the root of the second moment"));

static const mo_recipe recipe = MO_KL_RECIPE(MO_INNER_KL_ADAM);

MO_PIPELINE(klsoap, "Adam in the eigenbasis of KL-Shampoo (arXiv:2509.03378)", options, recipe)
