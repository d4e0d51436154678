/* spectral.c - any combination of the stages of the spectral family, by options.
 *
 *     X0 = momentum of G                                        mu, nesterov, kernel, ...
 *     X  = inner preconditioner of X0                           inner, sides, alpha, ...
 *     N  = NS(X), of all, some lines or some directions, or X   ortho, newton_schulz, divisor
 *     N <- post scaling of N                                    post, axis, beta2
 *     U  = inner preconditioner of N, once more                 outer
 *     U <- norm by rule, or that of N                           norm, graft
 *     W <- decayed W - lr shape(m, n) U, of some radius         decay, radius, floor
 *
 * As it comes it is Muon. inner = kron makes it Mousse, inner = rms Muon in SOAP's basis, and
 * post = rows NorMuon of either; inner = rows is MuonEq. Which combinations are any good is another matter.
 */
#include "optim/pipeline.h"

static const mo_option options[] = {
    MO_STAGE_LR(0.02),
    MO_STAGE_MU(0.95),
    MO_STAGE_NESTEROV(1),
    MO_STAGE_KERNEL,
    MO_STAGE_MU2(0.99),
    MO_STAGE_MIX(0.5),
    MO_STAGE_MIX_END(0.1),
    MO_STAGE_MIX_FALL(1000),
    MO_STAGE_MIX_LAST(0),
    MO_STAGE_MOMENTA(8),
    MO_STAGE_YOUNGEST(3),
    MO_STAGE_OLDEST(64),
    MO_STAGE_MU_SCHEDULE,
    MO_STAGE_MU_START(0.85),
    MO_STAGE_MU_WARMUP(300),
    MO_STAGE_MU_END(0.85),
    MO_STAGE_MU_FALL(1000),
    MO_STAGE_MU_LAST(0),
    MO_STAGE_INNER(MO_INNER_NONE),
    MO_STAGE_SIDES(MO_SIDES_BOTH),
    MO_STAGE_BETA(0.95),
    MO_STAGE_ALPHA(0.125, 0.5),
    MO_STAGE_NUMBER(eps, 1e-5, 1e-10, 1e3, "damping and floors of the inner preconditioner"),
    MO_STAGE_NUMBER(eps_rel, 1e-3, 0, 1,
                    "inner = diag with outer: floor, as a fraction of the mean"),
    MO_STAGE_FLOORS(MO_FLOORS_RELATIVE),
    MO_STAGE_SINKHORN(10),
    MO_STAGE_GATE,
    MO_STAGE_GATE_FLOOR(0),
    MO_STAGE_GATE_CAP(1),
    MO_STAGE_TRACE_NORM(1),
    MO_STAGE_STATS_OF(MO_OF_GRADIENT),
    MO_STAGE_STATS_WHEN(MO_WHEN_BEFORE),
    MO_STAGE_REFRESH_EVERY(10, "steps between preconditioner updates"),
    MO_STAGE_REFRESH_LONG(1),
    MO_STAGE_REFRESH,
    MO_STAGE_REFRESH_TOL,
    MO_STAGE_STAGGER,
    MO_STAGE_BLOCK(0),
    MO_STAGE_FORM(MO_FORM_AUTO),
    MO_STAGE_ORTHO(MO_ORTHO_ON),
    MO_STAGE_FRACTION(0.25),
    MO_WHOLE(mo_stage_options, rank, 16, 1, 1e6, 1,
             "ortho = low_rank: directions, found every refresh_every steps"),
    MO_STAGE_NEWTON_SCHULZ(MO_YOU5),
    MO_STAGE_DIVISOR(MO_FROBENIUS),
    MO_STAGE_POST(MO_POST_NONE),
    MO_STAGE_AXIS(MO_AXIS_LONG),
    MO_STAGE_BETA2(0.95, "decay of second moments"),
    MO_STAGE_OUTER(1),
    MO_STAGE_GRAFT(1),
    MO_STAGE_NORM(MO_NORM_KEEP),
    MO_STAGE_SHAPE(MO_SHAPE_SPECTRAL),
    MO_STAGE_WEIGHT_DECAY(0.01),
    MO_STAGE_DECAY(MO_DECAY_DECOUPLED),
    MO_STAGE_LR_PEAK,
    MO_STAGE_RADIUS(MO_RADIUS_FREE),
    MO_STAGE_FLOOR,
    MO_STAGE_FLOOR_TARGET(0.3825),
};

static const mo_recipe recipe = {.stages = {&mo_stage_momentum, &mo_stage_inner,
                                            &mo_stage_ortho, &mo_stage_post, &mo_stage_outer,
                                            &mo_stage_graft, &mo_stage_norm, &mo_stage_step},
                                 .set = {.bias_correction = 1, .eps2 = 1e-10}};

MO_PIPELINE(spectral, "any combination of the stages of the spectral family; by default muon",
            options, recipe)
