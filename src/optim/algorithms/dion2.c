/* dion2.c - Dion2: only the heaviest rows of the momentum move in a step (arXiv:2512.16928).
 *
 *     M <- M + G
 *     I = the heaviest fraction of the rows of M (of the columns when there are fewer of them)
 *     U[I] = NS(M[I]), 0 elsewhere          M[I] <- mu M[I]
 *     W <- W (1 - lr weight_decay) - lr shape(m, n) U
 *
 * With fraction 1 it is Muon without Nesterov.
 */
#include "optim/pipeline.h"

static const mo_option options[] = {
    MO_STAGE_LR(0.01),
    MO_STAGE_MU(0.95),
    MO_STAGE_FRACTION(0.25),
    MO_STAGE_NEWTON_SCHULZ(MO_POLAR5),
    MO_STAGE_SHAPE(MO_SHAPE_SPECTRAL),
    MO_STAGE_DECAY(MO_DECAY_DECOUPLED),
    MO_STAGE_LR_PEAK,
    MO_STAGE_WEIGHT_DECAY(0.01),
};

static const mo_recipe recipe = {.stages = {&mo_stage_topk, &mo_stage_step}};

MO_PIPELINE(dion2, "muon on the heaviest rows of the momentum alone (arXiv:2512.16928)",
            options, recipe)
