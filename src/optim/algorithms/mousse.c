/* mousse.c - Muon in the whitened space of Shampoo ("Mousse: Rectifying the Geometry of Muon
 * with Curvature-Aware Preconditioning", 2026).
 *
 *     M <- mu M + G                       X0 = M, or mu M + G (nesterov)
 *     L <- beta L + (1 - beta) G G^T      R <- beta R + (1 - beta) G^T G
 *     every refresh_every steps, from the first on:
 *         L~ = L/(1 - beta^t) * m/(trace + eps)           trace_norm
 *         P_L = (L~ + 2 eps)^-alpha                       R likewise
 *     N = NS(P_L X0 P_R)                  whiten, orthogonalise
 *     U = P_L N P_R                       unwhiten (outer)
 *     U <- ||N|| U/||U||                  graft
 *     W <- W (1 - lr weight_decay) - lr shape(m, n) U
 *
 * Why: Muon treats every direction of the momentum alike; whitening first makes "alike" mean
 * alike in curvature, and the graft keeps Muon's step length. The statistics of a side that
 * is not used (`sides`) are not kept. post = rows is NorMuon's scaling, between N and U.
 */
#include "optim/pipeline.h"

static const mo_option options[] = {
    MO_STAGE_LR(0.02),
    MO_STAGE_MU(0.95),
    MO_STAGE_BETA(0.95),
    MO_STAGE_ALPHA(0.125, 0.5),
    MO_STAGE_NUMBER(eps, 1e-5, 1e-10, 1e3, "damping of the normalised statistics"),
    MO_STAGE_REFRESH_EVERY(10, "steps between preconditioner updates"),
    MO_STAGE_REFRESH_LONG(2),
    MO_STAGE_REFRESH_TOL,
    MO_STAGE_TRACE_NORM(1),
    MO_STAGE_GRAFT(1),
    MO_STAGE_SIDES(MO_SIDES_BOTH),
    MO_STAGE_NESTEROV(0),
    MO_STAGE_OUTER(1),
    MO_STAGE_BIAS_CORRECTION(1, "correct the statistics for starting at zero"),
    MO_STAGE_NEWTON_SCHULZ(MO_YOU5),
    MO_STAGE_POST(MO_POST_NONE),
    MO_STAGE_AXIS(MO_AXIS_LONG),
    MO_STAGE_BETA2(0.95, "post: decay of the second moment"),
    MO_STAGE_SHAPE(MO_SHAPE_SPECTRAL),
    MO_STAGE_WEIGHT_DECAY(0.01),
    MO_STAGE_DECAY(MO_DECAY_DECOUPLED),
    MO_STAGE_LR_PEAK,
    MO_STAGE_BLOCK(0),
    MO_STAGE_FORM(MO_FORM_AUTO),
    MO_STAGE_REFRESH,
    MO_STAGE_STAGGER,
};

static const mo_recipe recipe = {
    .stages = {&mo_stage_momentum, &mo_stage_kron, &mo_stage_orthogonal, &mo_stage_post,
               &mo_stage_outer, &mo_stage_graft, &mo_stage_step},
    .set = {.inner = MO_INNER_KRON, .damping = MO_DAMP_ABSOLUTE, .eps2 = 1e-10}};

MO_PIPELINE(mousse,
            "momentum whitened by Kronecker-factored curvature, orthogonalised, unwhitened",
            options, recipe)
