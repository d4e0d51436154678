/* klshampoo.c - KL-Shampoo: each side whitened while the other's statistics are taken (Lin et al.,
 * arXiv:2509.03378).
 *
 *     the first step makes the basis: eigenvectors of G G^T / n and G^T G / m
 *     M <- mu M + (1 - mu) G
 *     U = Q_L [ (Q_L^T M Q_R) o h/(1 + eps h) ] Q_R^T        h_ij = (lamL_i lamR_j)^(-1/2)
 *     W <- (W - lr U) (1 - lr weight_decay)
 *     then the statistics of kl.c; every refresh_every steps Q <- qr(L Q)
 */
#include "optim/pipeline.h"

static const mo_option options[] = {
    MO_STAGE_LR(1e-4),
    MO_STAGE_MU(0.9),
    MO_STAGE_BETA(0.98),
    MO_STAGE_NUMBER(eps, 1e-8, 0, 1e3, "damping of the inverse root"),
    MO_STAGE_FLOORS(MO_FLOORS_RELATIVE),
    MO_STAGE_REFRESH_EVERY(10, "steps between moves of the basis"),
    MO_STAGE_REFRESH_TOL,
    MO_STAGE_STAGGER,
    MO_STAGE_WEIGHT_DECAY(0.01),
};

static const mo_recipe recipe = {.stages = {&mo_stage_kl, &mo_stage_step},
                                 .set = {.inner = MO_INNER_KL,
                                         .refresh = MO_REFRESH_QR,
                                         .shape = MO_SHAPE_NONE,
                                         .decay = MO_DECAY_AFTER}};

MO_PIPELINE(klshampoo, "Shampoo with factors of least divergence (arXiv:2509.03378)", options,
            recipe)
