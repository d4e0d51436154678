/* polargrad.c - PolarGrad: the polar factor times the nuclear norm (Lau et al.,
 * arXiv:2505.21799).
 *
 *     momentum_first   M <- mu M + (1 - mu) G     O = polar(X0)     U = <X0, O> O
 *     polar_first      O = polar(G)     M <- mu M + (1 - mu) O      U = <G, O> X0
 *     W <- W (1 - lr weight_decay) - lr U
 *
 * X0 is M, or looks ahead (nesterov). The step ends with the gradient, and a spike is followed;
 * for gradients of rank 1 it is SGD with momentum.
 */
#include "optim/pipeline.h"

static const mo_option options[] = {
    MO_STAGE_LR(0.02),
    MO_STAGE_MU(0.95),
    MO_STAGE_NESTEROV(0),
    MO_STAGE_ORDER(MO_MOMENTUM_FIRST),
    MO_STAGE_NEWTON_SCHULZ(MO_EXACT),
    MO_STAGE_DECAY(MO_DECAY_DECOUPLED),
    MO_STAGE_LR_PEAK,
    MO_STAGE_WEIGHT_DECAY(0),
};

static const mo_recipe recipe = {
    .stages = {&mo_stage_former, &mo_stage_latter, &mo_stage_norm, &mo_stage_step},
    .set = {.average = MO_AVERAGE, .norm = MO_NORM_NUCLEAR, .shape = MO_SHAPE_NONE}};

MO_PIPELINE(polargrad, "polar factor of the momentum times its nuclear norm (arXiv:2505.21799)",
            options, recipe)
