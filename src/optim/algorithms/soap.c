/* soap.c - SOAP, Adam in the eigenbasis of Shampoo's statistics (arXiv:2409.11321).
 *
 *     first step: L = (1 - beta2) G G^T, R likewise; Q_L, Q_R their eigenvectors; no update
 *     then with t = 1, 2, ...:
 *         G' = Q_L^T G Q_R
 *         m <- beta1 m + (1 - beta1) G'       v <- beta2 v + (1 - beta2) G'^2    (element-wise)
 *         W <- W - lr sqrt(1 - beta2^t)/(1 - beta1^t) Q_L (m / (sqrt(v) + eps)) Q_R^T
 *         W <- W (1 - lr weight_decay)
 *         L <- beta2 L + (1 - beta2) G G^T,   R likewise
 *         every refresh_every steps: one power iteration, Q <- qr(L Q), columns sorted by
 *         diag(Q^T L Q); v is permuted with them, m is carried over through the original space
 *
 * A side longer than max_precond_dim has Q = I. With refresh_tol a basis that is near enough
 * stays where it is. While the gradients so far cannot span a side, its Q is found anew instead
 * of moved (eigen.h).
 */
#include "optim/pipeline.h"

static const mo_option options[] = {
    MO_STAGE_LR(3e-3),
    MO_STAGE_CALLED("beta1", mu, 0.95, 0, MO_BETA_MAX, "decay of the first moment"),
    MO_STAGE_BETA2(0.95, "decay of the second moment and statistics"),
    MO_STAGE_NUMBER(eps, 1e-8, 1e-20, 1e3, "added to the root of the second moment"),
    MO_STAGE_WEIGHT_DECAY(0.01),
    MO_STAGE_REFRESH_EVERY(10, "steps between basis updates"),
    MO_STAGE_REFRESH_TOL,
    MO_STAGE_MAX_PRECOND_DIM(10000, "longer sides are left unrotated"),
    MO_STAGE_BIAS_CORRECTION(1, "correct the moments for starting at zero"),
    MO_STAGE_STAGGER,
};

static const mo_recipe recipe = {.stages = {&mo_stage_eigen_adam, &mo_stage_step},
                                 .set = {.beta = MO_AS_BETA2,
                                         .refresh = MO_REFRESH_QR,
                                         .shape = MO_SHAPE_NONE,
                                         .decay = MO_DECAY_AFTER}};

MO_PIPELINE(soap, "Adam in the slowly moving eigenbasis of the gradient's second moments",
            options, recipe)
