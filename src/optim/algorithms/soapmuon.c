/* soapmuon.c - SOAP-Muon: SOAP's scaling before Muon, the core of the records of 2026 on
 * modded-nanogpt's track 3.
 *
 *     M <- mu M + (1 - mu) G              X0 = mu M + (1 - mu) G (nesterov), or M
 *     Z = Q_L^T X0 Q_R                    v <- beta2 v + (1 - beta2) Z^2
 *     X = Q_L [ Z / sqrt(max(v, eps mean(v))) ] Q_R^T                  from the second step on
 *     W <- W (1 - lr weight_decay) - lr shape(m, n) NS(X)
 *     then L <- beta L + (1 - beta) G G^T, R likewise; every refresh_every steps Q <- qr(L Q)
 *
 * The records go on with gate = on (eigen_rms.c), radius = brake_pin, floor = row, decay = cautious
 * with weight_decay = 0.025 (step.c) and mu_schedule = cycle (momentum.c). sides = small keeps
 * one basis, of the shorter side, at a fraction of the cost. With a constant v it is Muon.
 */
#include "optim/pipeline.h"

static const mo_option options[] = {
    MO_STAGE_LR(0.0375),
    MO_STAGE_MU(0.95),
    MO_STAGE_NESTEROV(1),
    MO_STAGE_MU_SCHEDULE,
    MO_STAGE_MU_START(0.85),
    MO_STAGE_MU_WARMUP(300),
    MO_STAGE_MU_END(0.85),
    MO_STAGE_MU_FALL(2700),
    MO_STAGE_MU_LAST(2900),
    MO_STAGE_BETA(0.9),
    MO_STAGE_BETA2(0.9, "decay of the second moment in the basis"),
    MO_STAGE_NUMBER(eps, 1e-8, 0, 1, "smallest second moment, as a fraction of the mean"),
    MO_STAGE_GATE,
    MO_STAGE_GATE_FLOOR(0),
    MO_STAGE_GATE_CAP(1),
    MO_STAGE_SIDES(MO_SIDES_BOTH),
    MO_STAGE_REFRESH_EVERY(1, "steps between basis updates"),
    MO_STAGE_REFRESH_TOL,
    MO_STAGE_STAGGER,
    MO_STAGE_NEWTON_SCHULZ(MO_EXACT12),
    MO_STAGE_DIVISOR(MO_SCHATTEN4),
    MO_STAGE_SHAPE(MO_SHAPE_JORDAN),
    MO_STAGE_RADIUS(MO_RADIUS_FREE),
    MO_STAGE_FLOOR,
    MO_STAGE_FLOOR_TARGET(0.3825),
    MO_STAGE_DECAY(MO_DECAY_DECOUPLED),
    MO_STAGE_LR_PEAK,
    MO_STAGE_WEIGHT_DECAY(0),
};

static const mo_recipe recipe = {
    .stages = {&mo_stage_momentum, &mo_stage_eigen_rms, &mo_stage_orthogonal, &mo_stage_step},
    .set = {.average = MO_AVERAGE, .inner = MO_INNER_RMS, .refresh = MO_REFRESH_QR}};

MO_PIPELINE(soapmuon, "SOAP's scaling in the eigenbasis, then muon (modded-nanogpt, 2026)",
            options, recipe)
