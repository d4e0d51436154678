/* kronecker.h - Kronecker-factored curvature, one side of a matrix at a time.
 *
 *     statistics   L <- beta L + (1 - beta) G G^T    (left: rows)
 *                  R <- beta R + (1 - beta) G^T G    (right: columns)
 *     root         P = L~^(-power), where L~ is L corrected for its bias, normalised, damped
 *
 * A side longer than `block` is cut into consecutive diagonal blocks that know nothing of each
 * other; a block of n is n x n floats, blocks follow one another. Of statistics only the lower
 * triangles mean anything; roots are whole symmetric matrices.
 */
#ifndef MOUSSE_OPTIM_KRONECKER_H
#define MOUSSE_OPTIM_KRONECKER_H

#include "linalg/blas.h"
#include "linalg/lapack.h"
#include "optim/algorithm.h"
#include "optim/telemetry.h"

typedef struct mo_side {
  bool right;   /* columns; otherwise rows */
  size_t size;  /* 0: this side is not preconditioned */
  size_t block; /* size, or less */
} mo_side;

/* block 0: not cut. */
mo_side mo_side_make(mo_shape shape, bool right, size_t block);

size_t mo_side_floats(mo_side side); /* of the statistics, and of the root */

/* One step of the moving average, from the scaled gradient. */
void mo_side_average(mo_side side, mo_shape shape, const float *grad, double beta,
                     float *statistics);

/* y = P x (left) or x P (right); x and y are shape.rows x shape.cols and do not overlap. */
void mo_side_multiply(mo_side side, mo_shape shape, const float *root, const float *x,
                      float *y);

typedef enum mo_damping {
  MO_DAMP_ABSOLUTE, /* lam + eps, then shifted above 0 and + eps: as Mousse was published */
  MO_DAMP_RELATIVE  /* max(lam, 0) + eps * largest */
} mo_damping;

typedef struct mo_root_rule {
  double power;      /* root = (...)^-power */
  double correction; /* statistics are multiplied by it: 1/(1 - beta^t), or 1 */
  float gain;        /* of the statistics' unit: they hold gain^2 * (true value) */
  bool trace_norm;   /* scale each block to the trace of the identity */
  mo_damping damping;
  double eps;
} mo_root_rule;

/* The solvers to try in turn, ending in NULL. */
extern const mo_eigh_solver mo_eigh_ladder[];

/* Recomputes the root from the statistics, each block by itself. When every solver of the
 * ladder fails on a block, the root of that block stays as it was. Counts what happened. */
size_t mo_side_refresh_floats(mo_side side); /* of work */
void mo_side_refresh(mo_side side, const float *statistics, const mo_root_rule *rule,
                     const mo_eigh_solver *ladder, float *root, float *work, mo_counts *counts,
                     mo_telemetry *telemetry);

/* The eigenvalues (ascending) and eigenvectors (rows of `matrix`) of factor * statistics +
 * shift I for one n x n block, by the first solver of the ladder that succeeds. */
bool mo_side_decompose(size_t n, const float *statistics, double factor, double shift,
                       const mo_eigh_solver *ladder, double *matrix, double *values,
                       double *work, mo_counts *counts);

/* The root before the first refresh: the identity. */
void mo_side_identity(mo_side side, float *root);

#endif
