/* sumo.c - SUMO: Muon in the leading subspace of the gradient (arXiv:2505.24749).
 *
 *     every refresh_every steps: B = the `rank` leading singular vectors of G; M is carried over
 *     H = B G                   M <- mu M + H           O = NS(M), exact by default
 *     limit > 0: ||O|| is at most limit times that of the step before
 *     U = B^T O + residual (G - B^T H)
 *     W <- W (1 - lr weight_decay) - lr shape(m, n) U
 *
 * With a rank of all and no limit it is Muon without Nesterov. Not verified against a program of
 * the authors, which was not found; two others disagree on the residual.
 */
#include "optim/pipeline.h"

static const mo_option options[] = {
    MO_STAGE_LR(0.02),
    MO_STAGE_MU(0.95),
    MO_WHOLE(mo_stage_options, rank, 16, 1, 1e6, 1, "dimensions of the subspace"),
    MO_STAGE_REFRESH_EVERY(200, "steps between subspace updates"),
    MO_STAGE_LIMIT(1.1),
    MO_STAGE_RESIDUAL(0),
    MO_STAGE_NEWTON_SCHULZ(MO_EXACT),
    MO_STAGE_SHAPE(MO_SHAPE_NONE),
    MO_STAGE_DECAY(MO_DECAY_DECOUPLED),
    MO_STAGE_LR_PEAK,
    MO_STAGE_WEIGHT_DECAY(0),
};

static const mo_recipe recipe = {.stages = {&mo_stage_subspace, &mo_stage_step}};

MO_PIPELINE(sumo,
            "muon in the leading subspace of the gradient (arXiv:2505.24749, not verified)",
            options, recipe)
