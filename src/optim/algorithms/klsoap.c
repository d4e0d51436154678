/* klsoap.c - KL-SOAP: Adam in the eigenbasis of KL-Shampoo's statistics (Lin et al.,
 * arXiv:2509.03378).
 *
 *     the first step makes the basis: eigenvectors of G G^T / n and G^T G / m
 *     Z = Q_L^T G Q_R      m, v: first and second moment of Z, by mu and beta2, not corrected
 *     U = Q_L [ m / (sqrt(v) + eps) ] Q_R^T
 *     W <- (W - lr U) (1 - lr weight_decay)
 *     then the statistics of kl.c; every refresh_every steps Q <- qr(L Q), m is carried over
 */
#include "optim/pipeline.h"

static const mo_option options[] = {
    MO_STAGE_LR(1e-4),
    MO_STAGE_MU(0.9),
    MO_STAGE_BETA(0.98),
    MO_STAGE_BETA2(0.98, "decay of the second moment in the basis"),
    MO_STAGE_NUMBER(eps, 1e-8, 1e-20, 1e3, "added to the root of the second moment"),
    MO_STAGE_FLOORS(MO_FLOORS_RELATIVE),
    MO_STAGE_REFRESH_EVERY(10, "steps between moves of the basis"),
    MO_STAGE_REFRESH_TOL,
    MO_STAGE_STAGGER,
    MO_STAGE_WEIGHT_DECAY(0.01),
};

static const mo_recipe recipe = {.stages = {&mo_stage_kl, &mo_stage_step},
                                 .set = {.inner = MO_INNER_KL_ADAM,
                                         .refresh = MO_REFRESH_QR,
                                         .shape = MO_SHAPE_NONE,
                                         .decay = MO_DECAY_AFTER}};

MO_PIPELINE(klsoap, "Adam in the eigenbasis of KL-Shampoo (arXiv:2509.03378)", options, recipe)
