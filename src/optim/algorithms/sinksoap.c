/* sinksoap.c - SinkSOAP: rows and columns of the momentum balanced in SOAP's basis
 * (modded-nanogpt, track 3, 2026-05-14).
 *
 *     M <- mu M + (1 - mu) G              X0 = mu M + (1 - mu) G (nesterov), or M
 *     U = Q_L [ A_ij sqrt(r_i c_j) ] Q_R^T,  A = Q_L^T X0 Q_R, r and c by Sinkhorn's rounds, with
 *     the norm sqrt(min(m, n)) (eigen_sinkhorn.c)
 *     m != n: NorMuon's scaling along the longer side, with beta2
 *     W <- W (1 - lr weight_decay) - lr shape(m, n) U
 *
 * The basis is by eigh, as published; sides of 512 and more move theirs by QR. No Newton-Schulz
 * and no second moment of elements. Without memory (mu = beta = 0) U is the polar factor of G.
 */
#include "optim/pipeline.h"

static const mo_option options[] = {
    MO_STAGE_LR(0.04),
    MO_STAGE_MU(0.95),
    MO_STAGE_NESTEROV(1),
    MO_STAGE_BETA(0.95),
    MO_STAGE_BETA2(0.95, "decay of the longer side's second moment"),
    MO_STAGE_NUMBER(eps, 1e-8, 1e-12, 1, "smallest square of an element, and of a sum"),
    MO_STAGE_FLOORS(MO_FLOORS_RELATIVE),
    MO_STAGE_SINKHORN(10),
    MO_STAGE_REFRESH_EVERY(1, "steps between basis updates"),
    MO_STAGE_REFRESH_TOL,
    MO_STAGE_STAGGER,
    MO_STAGE_SHAPE(MO_SHAPE_JORDAN),
    MO_STAGE_DECAY(MO_DECAY_DECOUPLED),
    MO_STAGE_LR_PEAK,
    MO_STAGE_WEIGHT_DECAY(0.025),
};

static const mo_recipe recipe = {.stages = {&mo_stage_momentum, &mo_stage_eigen_sinkhorn,
                                            &mo_stage_norm, &mo_stage_rows, &mo_stage_step},
                                 .set = {.average = MO_AVERAGE,
                                         .inner = MO_INNER_SINKHORN,
                                         .refresh = MO_REFRESH_AUTO,
                                         .norm = MO_NORM_SQRT_MIN,
                                         .axis = MO_AXIS_LONGER}};

MO_PIPELINE(sinksoap, "rows and columns balanced in SOAP's basis (modded-nanogpt, 2026)",
            options, recipe)
