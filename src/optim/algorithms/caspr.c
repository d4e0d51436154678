/* caspr.c - CASPR: Shampoo with a sum of both sides in place of their product (Duvvuri et al.,
 * ICLR 2024).
 *
 *     M <- mu M + (1 - mu) G              X0 = mu M + (1 - mu) G (nesterov), or M
 *     Y = a X0 + X0 c     U = a Y + Y c   a, c: inverse fourth roots of G G^T and G^T G averaged
 *     graft: U gets the norm of Adam's step for X0, of X0 itself (sgd), or keeps its own (none)
 *     W <- W (1 - lr weight_decay) - lr U
 *
 * A side not among `sides` has a or c = I; block: a longer side is cut, at 1024 in the published
 * program. Without memory (mu = beta = 0) U is the polar factor of G.
 */
#include "optim/pipeline.h"

static const mo_option options[] = {
    MO_STAGE_LR(1e-3),
    MO_STAGE_MU(0.9),
    MO_STAGE_NESTEROV(1),
    MO_STAGE_BETA(0.999),
    MO_STAGE_BETA2(0.999, "graft: decay of Adam's second moment"),
    MO_STAGE_NUMBER(eps, 1e-6, 1e-10, 1e3, "damping, as a fraction of the mean eigenvalue"),
    MO_STAGE_MOMENT_GRAFT,
    MO_STAGE_SIDES(MO_SIDES_BOTH),
    MO_STAGE_BLOCK(0),
    MO_STAGE_REFRESH_EVERY(20, "steps between preconditioner updates"),
    MO_STAGE_REFRESH,
    MO_STAGE_REFRESH_TOL,
    MO_STAGE_STAGGER,
    MO_STAGE_DECAY(MO_DECAY_DECOUPLED),
    MO_STAGE_LR_PEAK,
    MO_STAGE_WEIGHT_DECAY(0),
};

static const mo_recipe recipe = {.stages = {&mo_stage_momentum, &mo_stage_moments,
                                            &mo_stage_sum, &mo_stage_graft, &mo_stage_step},
                                 .set = {.average = MO_AVERAGE,
                                         .inner = MO_INNER_SUM,
                                         .alpha = 0.25,
                                         .damping = MO_DAMP_TRACE,
                                         .bias_correction = 1,
                                         .shape = MO_SHAPE_NONE}};

MO_PIPELINE(caspr, "momentum times a sum of both sides' inverse roots, grafted (ICLR 2024)",
            options, recipe)
