/* muon.c - Muon: momentum, orthogonalised (Jordan et al., 2024).
 *
 *     M <- mu M + G                X0 = mu M + G (nesterov), or M
 *     U = NS(X0)                   all singular values to about 1
 *     W <- W (1 - lr weight_decay) - lr shape(m, n) U
 */
#include "optim/pipeline.h"

static const mo_option options[] = {
    MO_STAGE_LR(0.02),
    MO_STAGE_MU(0.95),
    MO_STAGE_NESTEROV(1),
    MO_STAGE_NEWTON_SCHULZ(MO_YOU5),
    MO_STAGE_SHAPE(MO_SHAPE_SPECTRAL),
    MO_STAGE_WEIGHT_DECAY(0.01),
    MO_STAGE_DECAY(MO_DECAY_DECOUPLED),
    MO_STAGE_LR_PEAK,
};

static const mo_recipe recipe = {
    .stages = {&mo_stage_momentum, &mo_stage_orthogonal, &mo_stage_step}};

MO_PIPELINE(muon, "momentum with its singular values set to one", options, recipe)
