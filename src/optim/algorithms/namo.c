/* namo.c - NAMO: Muon whose step grows and shrinks as Adam's would (Zhang et al.,
 * arXiv:2602.17080).
 *
 *     M <- mu M + (1 - mu) G          X0 = M, or mu M + (1 - mu) G (nesterov)
 *     v <- beta2 v + (1 - beta2) ||G||^2
 *     U = NS(X0) ||X0|| / (sqrt(v) + eps)
 *     W <- W (1 - lr weight_decay) - lr shape(m, n) U
 *
 * bias_correction is the paper's; NVIDIA's program, whose defaults these are, has none.
 */
#include "optim/pipeline.h"

static const mo_option options[] = {
    MO_STAGE_LR(0.02),
    MO_STAGE_MU(0.95),
    MO_STAGE_NESTEROV(0),
    MO_STAGE_NEWTON_SCHULZ(MO_JORDAN5),
    MO_STAGE_BETA2(0.95, "decay of the squared norm of the gradient"),
    MO_STAGE_CALLED("eps", eps2, 1e-8, 1e-20, 1e3, "added to the root of that"),
    MO_STAGE_BIAS_CORRECTION(0, "correct both averages for starting at zero"),
    MO_STAGE_SHAPE(MO_SHAPE_SPECTRAL),
    MO_STAGE_DECAY(MO_DECAY_DECOUPLED),
    MO_STAGE_LR_PEAK,
    MO_STAGE_WEIGHT_DECAY(0.01),
};

static const mo_recipe recipe = {
    .stages = {&mo_stage_momentum, &mo_stage_orthogonal, &mo_stage_scalar, &mo_stage_step},
    .set = {.average = MO_AVERAGE, .post = MO_POST_SCALAR}};

MO_PIPELINE(namo, "muon with Adam's step length for the whole matrix (arXiv:2602.17080)",
            options, recipe)
