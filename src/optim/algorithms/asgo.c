/* asgo.c - ASGO: the momentum whitened in full on its shorter side (An et al.,
 * arXiv:2503.20762).
 *
 *     M <- mu M + (1 - mu) G                          (nesterov: mu M + (1 - mu) G)
 *     V <- beta2 V + (1 - beta2) C                    C = G G^T if m < n, else G^T G
 *     U = V^(-1/2) M, or M V^(-1/2), with an RMS of 0.2
 *     W <- W (1 - lr weight_decay) - lr U
 *
 * The inverse root leaves out directions whose eigenvalue is at most eps of the largest. Without
 * memory (mu = beta2 = 0) U is the polar factor of G.
 */
#include "optim/pipeline.h"

static const mo_option options[] = {
    MO_STAGE_LR(0.01),
    MO_STAGE_MU(0.9),
    MO_STAGE_NESTEROV(0),
    MO_STAGE_BETA2(0.8, "decay of the curvature statistics"),
    MO_STAGE_NUMBER(eps, 1e-6, 1e-12, 1, "smallest eigenvalue, as a fraction of the largest"),
    MO_STAGE_REFRESH_EVERY(1, "steps between preconditioner updates"),
    MO_STAGE_STAGGER,
    MO_STAGE_DECAY(MO_DECAY_DECOUPLED),
    MO_STAGE_LR_PEAK,
    MO_STAGE_WEIGHT_DECAY(0.1),
};

static const mo_recipe recipe = {
    .stages = {&mo_stage_momentum, &mo_stage_kron, &mo_stage_norm, &mo_stage_step},
    .set = {.average = MO_AVERAGE,
            .inner = MO_INNER_KRON,
            .sides = MO_SIDES_SMALL_RIGHT,
            .alpha = 0.5,
            .trace_norm = 1,
            .damping = MO_DAMP_PSEUDO,
            .beta = MO_AS_BETA2,
            .norm = MO_NORM_RMS,
            .shape = MO_SHAPE_NONE}};

MO_PIPELINE(asgo, "momentum whitened in full on its shorter side (arXiv:2503.20762)", options,
            recipe)
