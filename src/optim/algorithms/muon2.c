/* muon2.c - Muon in a diagonal geometry: Muon^2 (arXiv:2604.09967), and with `outer` the diagonal
 * case of the Mousse paper (appendix A.1).
 *
 *     M <- mu M + (1 - mu) G          X0 = mu M + (1 - mu) G (nesterov), or M
 *     v <- beta2 v + (1 - beta2) G^2
 *     U = NS(X0 / D), D = v^alpha + eps
 *     outer: D = v^alpha + eps_rel mean(v^alpha), N = NS(X0 / D), U = N / D; graft: with ||N||
 *     W <- W (1 - lr weight_decay) - lr shape(m, n) U
 *
 * With a constant v it is Muon.
 */
#include "optim/pipeline.h"

static const mo_option options[] = {
    MO_STAGE_LR(0.1),
    MO_STAGE_MU(0.95),
    MO_STAGE_NESTEROV(1),
    MO_STAGE_BETA2(0.95, "decay of the elements' second moment"),
    MO_STAGE_ALPHA(0.5, 0.5),
    MO_STAGE_NUMBER(eps, 1e-10, 1e-20, 1e3, "added to the divisor, with outer off"),
    MO_STAGE_NUMBER(eps_rel, 1e-3, 1e-6, 1,
                    "the same with outer on, as a fraction of the mean"),
    MO_STAGE_OUTER(0),
    MO_STAGE_GRAFT(1),
    MO_STAGE_NEWTON_SCHULZ(MO_JORDAN5),
    MO_STAGE_SHAPE(MO_SHAPE_JORDAN),
    MO_STAGE_DECAY(MO_DECAY_DECOUPLED),
    MO_STAGE_LR_PEAK,
    MO_STAGE_WEIGHT_DECAY(0.0125),
};

static const mo_recipe recipe = {
    .stages = {&mo_stage_momentum, &mo_stage_diag, &mo_stage_orthogonal, &mo_stage_outer,
               &mo_stage_graft, &mo_stage_step},
    .set = {.average = MO_AVERAGE, .inner = MO_INNER_DIAG, .floors = MO_FLOORS_ABSOLUTE}};

MO_PIPELINE(muon2, "muon in a diagonal geometry (arXiv:2604.09967; outer: Mousse, A.1)",
            options, recipe)
