/* adamuon.c - AdaMuon: a second moment of each element of the orthogonal factor (Si et al.,
 * arXiv:2507.11005).
 *
 *     M <- mu M + (1 - mu) G          X0 = mu M + (1 - mu) G (nesterov), or M
 *     O = NS(sign(X0))                sign off: NS(X0)
 *     v <- beta2 v + (1 - beta2) O^2
 *     U = O / (sqrt(v) + eps), with an RMS of 0.2
 *     W <- W (1 - lr weight_decay) - lr U
 *
 * The published program uses mu for beta2.
 */
#include "optim/pipeline.h"

static const mo_option options[] = {
    MO_STAGE_LR(0.02),
    MO_STAGE_MU(0.95),
    MO_STAGE_NESTEROV(1),
    MO_STAGE_SWITCH_CALLED("sign", inner, 1, 1, "orthogonalise the signs of the momentum"),
    MO_STAGE_NEWTON_SCHULZ(MO_JORDAN5),
    MO_STAGE_BETA2(0.95, "decay of the elements' second moment"),
    MO_STAGE_CALLED("eps", eps2, 1e-8, 1e-20, 1e3, "added to the root of the second moment"),
    MO_STAGE_DECAY(MO_DECAY_DECOUPLED),
    MO_STAGE_LR_PEAK,
    MO_STAGE_WEIGHT_DECAY(0.01),
};

static const mo_recipe recipe = {
    .stages = {&mo_stage_momentum, &mo_stage_inner, &mo_stage_orthogonal, &mo_stage_element,
               &mo_stage_norm, &mo_stage_step},
    .set = {.average = MO_AVERAGE, .norm = MO_NORM_RMS, .shape = MO_SHAPE_NONE}};

MO_PIPELINE(adamuon, "muon with a second moment of each element (arXiv:2507.11005)", options,
            recipe)
