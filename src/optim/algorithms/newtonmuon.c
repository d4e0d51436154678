/* newtonmuon.c - Newton-Muon: Muon on gradients whitened by the covariance of the layer's inputs
 * (modded-nanogpt, track 3, 2026-05-05).
 *
 *     A <- beta A + (1 - beta) A_now         from the first A_now, which the caller gives
 *     every refresh_every steps, from the first on:  K = (A + (eps trace(A)/n + 1e-8) I)^-1
 *     H = G K                      M <- mu M + (1 - mu) H
 *     X0 = mu M + (1 - mu) H (nesterov), or M
 *     W <- W (1 - lr weight_decay) - lr shape(m, n) NS(X0)
 *
 * With A = I it is Muon.
 */
#include "optim/pipeline.h"

static const mo_option options[] = {
    MO_STAGE_LR(0.035),
    MO_STAGE_MU(0.95),
    MO_STAGE_NESTEROV(1),
    MO_STAGE_NUMBER(beta, 0.95, 0, MO_BETA_MAX, "decay of the averaged covariance"),
    MO_STAGE_NUMBER(eps, 0.2, 1e-6, 1e3, "damping, as a fraction of the mean eigenvalue"),
    MO_STAGE_REFRESH_EVERY(64, "steps between inverses"),
    MO_STAGE_REFRESH,
    MO_STAGE_REFRESH_TOL,
    MO_STAGE_STAGGER,
    MO_STAGE_NEWTON_SCHULZ(MO_JORDAN5),
    MO_STAGE_SHAPE(MO_SHAPE_JORDAN),
    MO_STAGE_DECAY(MO_DECAY_DECOUPLED),
    MO_STAGE_LR_PEAK,
    MO_STAGE_WEIGHT_DECAY(0.025),
};

static const mousse_input inputs[] = {
    {"input_covariance", "mean over tokens of a a^T for the layer's input a", MOUSSE_COLS,
     MOUSSE_COLS},
};

static const mo_recipe recipe = {.stages = {&mo_stage_whiten_given, &mo_stage_momentum,
                                            &mo_stage_orthogonal, &mo_stage_step},
                                 .set = {.average = MO_AVERAGE}};

MO_PIPELINE_WITH(newtonmuon,
                 "muon on gradients whitened by the covariance of the layer's inputs", options,
                 recipe, .inputs = inputs, .input_count = 1)
