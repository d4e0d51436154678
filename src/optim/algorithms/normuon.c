/* normuon.c - NorMuon: Muon whose rows get equal shares over time (Li et al., arXiv:2510.05491).
 *
 *     M <- mu M + (1 - mu) G          X0 = mu M + (1 - mu) G (nesterov), or M
 *     O = NS(X0)
 *     V <- beta2 V + (1 - beta2) q    q_i = mean_j O_ij^2
 *     U = O / (sqrt(V) + eps), with the norm of O
 *     W <- W (1 - lr weight_decay) - lr shape(m, n) U
 *
 * axis = rows is the authors'; long, along the longer side, that of modded-nanogpt.
 */
#include "optim/pipeline.h"

static const mo_option options[] = {
    MO_STAGE_LR(0.02),
    MO_STAGE_MU(0.95),
    MO_STAGE_NESTEROV(1),
    MO_STAGE_NEWTON_SCHULZ(MO_JORDAN5),
    MO_STAGE_AXIS(MO_AXIS_ROWS),
    MO_STAGE_BETA2(0.95, "decay of the lines' second moment"),
    MO_STAGE_CALLED("eps", eps2, 1e-10, 1e-20, 1e3, "added to the root of the second moment"),
    MO_STAGE_SHAPE(MO_SHAPE_JORDAN),
    MO_STAGE_WEIGHT_DECAY(0),
    MO_STAGE_DECAY(MO_DECAY_DECOUPLED),
    MO_STAGE_LR_PEAK,
};

static const mo_recipe recipe = {
    .stages = {&mo_stage_momentum, &mo_stage_orthogonal, &mo_stage_rows, &mo_stage_step},
    .set = {.average = MO_AVERAGE}};

MO_PIPELINE(normuon, "muon with a second moment of each row of the orthogonal factor", options,
            recipe)
