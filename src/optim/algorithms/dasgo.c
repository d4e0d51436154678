/* dasgo.c - DASGO, the diagonal of ASGO: columns over their RMS (An et al., arXiv:2503.20762).
 *
 *     M <- mu M + (1 - mu) G                          (nesterov: mu M + (1 - mu) G)
 *     v_j <- beta2 v_j + (1 - beta2) sum_i G_ij^2
 *     U = M / sqrt(v + eps), with an RMS of 0.2
 *     W <- W (1 - lr weight_decay) - lr U
 */
#include "optim/pipeline.h"

static const mo_option options[] = {
    MO_STAGE_LR(1e-3),
    MO_STAGE_MU(0.9),
    MO_STAGE_NESTEROV(0),
    MO_STAGE_BETA2(0.95, "decay of the columns' second moment"),
    MO_STAGE_NUMBER(eps, 1e-8, 1e-20, 1e3, "added to the second moment"),
    MO_STAGE_DECAY(MO_DECAY_DECOUPLED),
    MO_STAGE_LR_PEAK,
    MO_STAGE_WEIGHT_DECAY(0.1),
};

static const mo_recipe recipe = {
    .stages = {&mo_stage_momentum, &mo_stage_columns, &mo_stage_norm, &mo_stage_step},
    .set = {.average = MO_AVERAGE, .norm = MO_NORM_RMS, .shape = MO_SHAPE_NONE}};

MO_PIPELINE(dasgo, "momentum with each column over its RMS (arXiv:2503.20762)", options, recipe)
