/* root.h - the root of a side from its statistics: P = A^-power.
 *
 *     A = statistics, corrected for their bias, normalised to the trace of the identity, damped
 *
 * Three ways, measured against each other in docs/refresh.md:
 *   eigh      eigenvalue decomposition in double: the reference, and quick for short sides;
 *   qr        the eigenvectors of last time, moved by one power iteration and QR;
 *   cholesky  a sum of a few partial fractions, each by one Cholesky factorization in float:
 *             as exact as if every eigenvalue were known to 35%, which trains as well.
 * When a way fails on a block there is another (eigh: a second algorithm; qr: eigh; cholesky:
 * more damping); when all fail, the root of the block stays as it was. All of it is counted.
 */
#ifndef MOUSSE_OPTIM_ROOT_H
#define MOUSSE_OPTIM_ROOT_H

#include "linalg/lapack.h"
#include "optim/algorithm.h"
#include "optim/telemetry.h"

typedef enum mo_refresh {
  MO_REFRESH_AUTO,
  MO_REFRESH_EIGH,
  MO_REFRESH_QR,
  MO_REFRESH_CHOLESKY
} mo_refresh;
extern const char *const mo_refresh_names[5];

#define MO_OPTION_REFRESH(config)                                                              \
  MO_CHOICE(config, refresh, mo_refresh_names, MO_REFRESH_AUTO, 1,                             \
            "how roots are computed; auto: eigh below 512 rows or columns, then cholesky")
#define MO_OPTION_STAGGER(config)                                                              \
  MO_SWITCH(config, stagger, 0, 0, "spread the refreshes of the matrices over the steps")

typedef enum mo_damping {
  MO_DAMP_ABSOLUTE, /* lam + eps, then shifted above 0 and + eps: as Mousse was published */
  MO_DAMP_RELATIVE, /* max(lam, 0) + eps * largest */
  MO_DAMP_TRACE,    /* max(lam, 0) + eps * mean */
  MO_DAMP_FLOOR,    /* max(lam, 0) + eps */
  MO_DAMP_PSEUDO    /* lam up to eps * largest are left out, as in a pseudo-inverse; by eigh */
} mo_damping;

typedef struct mo_root_rule {
  double power;      /* root = (...)^-power */
  double correction; /* statistics are multiplied by it: 1/(1 - beta^t), or 1 */
  float grad_scale;  /* the statistics hold grad_scale^2 * (true value) */
  bool trace_norm;   /* scale each block to the trace of the identity */
  mo_damping damping;
  double eps;
  mo_refresh method;
  double tolerance;             /* qr: a basis this near stays where it is (basis.h) */
  double spanned;               /* qr: the largest rank so far, or 0; larger bases are found
                                 * anew, as QR of what has not full rank is rounding */
  int terms;                    /* of cholesky's sum; 0: as many as it takes */
  const mo_eigh_solver *ladder; /* to try in turn, ending in NULL; NULL: the usual ones */
} mo_root_rule;

/* What `auto` is for this side. */
mo_refresh mo_refresh_resolve(mo_refresh method, mo_side side);

/* Floats of the eigenvectors that `qr` keeps between refreshes; 0 for the others. */
size_t mo_root_basis_floats(mo_refresh method, mo_side side);

/* Recomputes the root of every block. `basis` is looked at by qr alone. */
size_t mo_root_work_floats(mo_refresh method, mo_side side);
void mo_root_refresh(mo_side side, const mo_root_rule *rule, float *pair, float *basis,
                     float *work, mo_counts *counts, mo_telemetry *telemetry);

#endif
