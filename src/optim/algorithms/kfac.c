/* kfac.c - K-FAC: gradients divided by a Kronecker-factored curvature (arXiv:1503.05671).
 *
 *     A <- beta A + (1 - beta) A_now, B likewise, both from I; the caller gives A_now (of the
 *     layer's inputs) and B_now (of the gradients at its outputs)
 *     every refresh_every steps, from the first on: eigenvalues a, b and eigenvectors of both
 *     H = Q_B [ (Q_B^T G Q_A)_ij / (b_i a_j + eps) ] Q_A^T
 *     H <- H min(1, sqrt(kl_clip / (lr^2 |<H, G>|)))
 *     M <- mu M + H                U = M, or mu M + H (nesterov)
 *     W <- W (1 - lr weight_decay) - lr U
 *
 * The clip looks at each matrix alone. With A = B = I it is SGD with momentum.
 */
#include "optim/pipeline.h"

static const mo_option options[] = {
    MO_STAGE_LR(0.1),
    MO_STAGE_MU(0.9),
    MO_STAGE_NESTEROV(0),
    MO_STAGE_NUMBER(beta, 0.95, 0, MO_BETA_MAX, "decay of the averaged covariances"),
    MO_STAGE_NUMBER(eps, 1e-3, 1e-10, 1e6, "damping of the curvature"),
    MO_STAGE_KL_CLIP(1e-3),
    MO_STAGE_REFRESH_EVERY(1, "steps between decompositions"),
    MO_STAGE_REFRESH_TOL,
    MO_STAGE_STAGGER,
    MO_STAGE_DECAY(MO_DECAY_DECOUPLED),
    MO_STAGE_LR_PEAK,
    MO_STAGE_WEIGHT_DECAY(0),
};

static const mousse_input inputs[] = {
    {"output_covariance", "mean over tokens of d d^T for the gradient d at the layer's output",
     MOUSSE_ROWS, MOUSSE_ROWS},
    {"input_covariance", "mean over tokens of a a^T for the layer's input a", MOUSSE_COLS,
     MOUSSE_COLS},
};

static const mo_recipe recipe = {
    .stages = {&mo_stage_given, &mo_stage_momentum, &mo_stage_step},
    .set = {.shape = MO_SHAPE_NONE}};

MO_PIPELINE_WITH(kfac,
                 "gradients divided by the curvature of given covariances (arXiv:1503.05671)",
                 options, recipe, .inputs = inputs, .input_count = 2)
