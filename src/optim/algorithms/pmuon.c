/* pmuon.c - PMuon: Muon behind a power of the momentum's own covariances (modded-nanogpt, track
 * 3, 2026-05-07).
 *
 *     M <- mu M + (1 - mu) G              X0 = mu M + (1 - mu) G (nesterov), or M
 *     A <- beta A + X0 X0^T               C <- beta C + X0^T X0
 *     P_A = (A~ m/trace(A~) + eps I)^-alpha, A~ = X0 X0^T + beta A, every refresh_every steps;
 *     P_C likewise
 *     W <- W (1 - lr weight_decay) - lr shape(m, n) NS(P_A X0 P_C)
 *
 * The power is exact, where the published program takes one step of orthogonal iteration. With
 * alpha = 0 it is Muon.
 */
#include "optim/pipeline.h"

static const mo_option options[] = {
    MO_STAGE_LR(0.035),
    MO_STAGE_MU(0.95),
    MO_STAGE_NESTEROV(1),
    MO_STAGE_BETA(0.95),
    MO_STAGE_ALPHA(0.3, 0.5),
    MO_STAGE_NUMBER(eps, 1e-6, 1e-10, 1e3, "damping, as a fraction of the mean eigenvalue"),
    MO_STAGE_SIDES(MO_SIDES_BOTH),
    MO_STAGE_BLOCK(0),
    MO_STAGE_REFRESH_EVERY(1, "steps between preconditioner updates"),
    MO_STAGE_REFRESH,
    MO_STAGE_REFRESH_TOL,
    MO_STAGE_STAGGER,
    MO_STAGE_NEWTON_SCHULZ(MO_EXACT12),
    MO_STAGE_SHAPE(MO_SHAPE_JORDAN),
    MO_STAGE_DECAY(MO_DECAY_DECOUPLED),
    MO_STAGE_LR_PEAK,
    MO_STAGE_WEIGHT_DECAY(0.025),
};

static const mo_recipe recipe = {
    .stages = {&mo_stage_momentum, &mo_stage_kron, &mo_stage_orthogonal, &mo_stage_step},
    .set = {.average = MO_AVERAGE,
            .inner = MO_INNER_KRON,
            .stats_of = MO_OF_MOMENTUM,
            .trace_norm = 1,
            .damping = MO_DAMP_FLOOR}};

MO_PIPELINE(pmuon, "muon behind powers of the momentum's covariances (modded-nanogpt, 2026)",
            options, recipe)
