/* shampoo.c - Shampoo (arXiv:1802.09568) with moving averages and grafting.
 *
 *     L <- beta2 L + (1 - beta2) G G^T,  R likewise        statistics
 *     m <- beta1 m + (1 - beta1) G,  v <- beta2 v + (1 - beta2) G^2
 *     every refresh_every steps, from the first on:
 *         P_L = (L/(1 - beta2^t) + eps lam_max(L) I)^(-1/4),  P_R likewise
 *     U = P_L (m/(1 - beta1^t)) P_R
 *     graft: U is given the norm of Adam's step (adam), of the corrected momentum (sgd), or
 *     its own (none)
 *     W <- W (1 - lr weight_decay) - lr U
 *
 * Sides longer than max_precond_dim, and those not among `sides`, have P = I; the other keeps its
 * power. block: a longer side is cut. v is kept for graft = adam only.
 */
#include "optim/pipeline.h"

static const mo_option options[] = {
    MO_STAGE_LR(1e-3),
    MO_STAGE_CALLED("beta1", mu, 0.9, 0, MO_BETA_MAX, "decay of the momentum"),
    MO_STAGE_BETA2(0.95, "decay of the statistics"),
    MO_STAGE_NUMBER(eps, 1e-6, 1e-12, 1, "damping, as a fraction of the largest eigenvalue"),
    MO_STAGE_WEIGHT_DECAY(0.01),
    MO_STAGE_REFRESH_EVERY(10, "steps between preconditioner updates"),
    MO_STAGE_REFRESH_TOL,
    MO_STAGE_MAX_PRECOND_DIM(10000, "longer sides are not preconditioned"),
    MO_STAGE_SIDES(MO_SIDES_BOTH),
    MO_STAGE_BLOCK(0),
    MO_STAGE_BIAS_CORRECTION(1, "correct the averages for starting at zero"),
    MO_STAGE_MOMENT_GRAFT,
    MO_STAGE_REFRESH,
    MO_STAGE_STAGGER,
};

static const mo_recipe recipe = {.stages = {&mo_stage_momentum, &mo_stage_moments,
                                            &mo_stage_kron, &mo_stage_graft, &mo_stage_step},
                                 .set = {.average = MO_AVERAGE,
                                         .inner = MO_INNER_KRON,
                                         .beta = MO_AS_BETA2,
                                         .alpha = 0.25,
                                         .damping = MO_DAMP_RELATIVE,
                                         .shape = MO_SHAPE_NONE}};

MO_PIPELINE(shampoo,
            "momentum preconditioned by inverse fourth roots of the curvature, grafted",
            options, recipe)
