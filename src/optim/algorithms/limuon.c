/* limuon.c - LiMuon: Muon on a variance-reduced momentum of low rank (arXiv:2509.14562).
 *
 *     M = G + mu (M - H)        H: the gradient of the same batch at the previous weights
 *     U = NS(M), exact by default
 *     W <- W (1 - lr weight_decay) - lr shape(m, n) U
 *     rank > 0: M is kept at that rank, by random projection (storm.c)
 *
 * With H = 0 and rank 0 it is Muon without Nesterov. Not verified against a program of the
 * authors, which was not found.
 */
#include "optim/pipeline.h"

static const mo_option options[] = {
    MO_STAGE_LR(0.02),
    MO_STAGE_MU(0.95),
    MO_STAGE_RANK(8, "rank at which the momentum is kept; 0: whole"),
    MO_STAGE_NEWTON_SCHULZ(MO_EXACT),
    MO_STAGE_SHAPE(MO_SHAPE_NONE),
    MO_STAGE_DECAY(MO_DECAY_DECOUPLED),
    MO_STAGE_LR_PEAK,
    MO_STAGE_WEIGHT_DECAY(0),
};

static const mousse_input inputs[] = {
    {"previous_gradient", "gradient of this batch at the weights before the last step",
     MOUSSE_ROWS, MOUSSE_COLS},
};

static const mo_recipe recipe = {
    .stages = {&mo_stage_storm, &mo_stage_orthogonal, &mo_stage_step}};

MO_PIPELINE_WITH(limuon,
                 "muon with variance reduction, at low rank (arXiv:2509.14562, not verified)",
                 options, recipe, .inputs = inputs, .input_count = 1)
