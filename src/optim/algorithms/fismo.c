/* fismo.c - FISMO: Muon in the space whitened by Kronecker factors of the Fisher matrix
 * (arXiv:2601.21750).
 *
 *     Lx = G Q^-1 G^T / n      P <- beta P + (1 - beta) (Lx + eps I), scaled to trace m
 *     Rx = G^T P^-1 G / m      Q likewise, with the P just made; P = Q = I at first
 *     M <- mu M + (1 - mu) P^(-1/2) G Q^(-1/2)        momentum in the whitened space
 *     N = NS(M)     U = P^(-1/2) N Q^(-1/2) (outer)   graft: with ||N||
 *     W <- W (1 - lr weight_decay) - lr shape(m, n) U
 *
 * trace_norm scales Lx and Rx to the trace of the identity, without which the method sees the
 * scale of the gradients. Not verified against a program of the authors, which was not found; the
 * defaults, graft and shape are ours.
 */
#include "optim/pipeline.h"

static const mo_option options[] = {
    MO_STAGE_LR(0.02),
    MO_STAGE_MU(0.95),
    MO_STAGE_BETA(0.95),
    MO_STAGE_NUMBER(eps, 1e-3, 1e-6, 1e3, "damping of the factors"),
    MO_STAGE_TRACE_NORM(0),
    MO_STAGE_OUTER(1),
    MO_STAGE_GRAFT(1),
    MO_STAGE_REFRESH_EVERY(1, "steps between preconditioner updates"),
    MO_STAGE_REFRESH,
    MO_STAGE_REFRESH_TOL,
    MO_STAGE_STAGGER,
    MO_STAGE_NEWTON_SCHULZ(MO_YOU5),
    MO_STAGE_SHAPE(MO_SHAPE_SPECTRAL),
    MO_STAGE_DECAY(MO_DECAY_DECOUPLED),
    MO_STAGE_LR_PEAK,
    MO_STAGE_WEIGHT_DECAY(0),
};

static const mo_recipe recipe = {.stages = {&mo_stage_fisher, &mo_stage_momentum,
                                            &mo_stage_orthogonal, &mo_stage_outer,
                                            &mo_stage_graft, &mo_stage_step},
                                 .set = {.average = MO_AVERAGE, .inner = MO_INNER_FISHER}};

MO_PIPELINE(fismo,
            "muon in the space whitened by the Fisher matrix (arXiv:2601.21750, unverified)",
            options, recipe)
