/* root_block.h - the root of one block, by each of the ways of root.h. Seen by them alone. */
#ifndef MOUSSE_OPTIM_ROOT_BLOCK_H
#define MOUSSE_OPTIM_ROOT_BLOCK_H

#include "optim/root.h"
#include "optim/spectrum.h"

/* One refresh of one side. */
typedef struct mo_root_pass {
  const mo_root_rule *rule;
  mo_counts *counts;
  bool observed;
  bool renewed; /* more than eigenvalues: qr sets it when a basis has moved */
  mo_spectra spectra;
} mo_root_pass;

/* One block of the side. */
typedef struct mo_root_block {
  size_t n;
  float *pair;
  double factor; /* takes the stored statistics to normalised ones */
} mo_root_block;

void mo_root_by_eigh(mo_root_pass *pass, mo_root_block block, float *work);
void mo_root_by_qr(mo_root_pass *pass, mo_root_block block, float *basis, float *work);
void mo_root_by_cholesky(mo_root_pass *pass, mo_root_block block, float *work);

size_t mo_root_eigh_floats(size_t n);
size_t mo_root_qr_floats(size_t n);
size_t mo_root_cholesky_floats(size_t n);

/* An eigenvalue of the normalised statistics, before damping, for the observer. */
void mo_root_observe(mo_root_pass *pass, mo_root_block block, double value);

/* What the ways by eigenvalues share: the part of the damping that is added before eigenvalues
 * are known, the rest of it, and root = sum_i values[i]^-power row_i^T row_i. */
double mo_root_shift(const mo_root_rule *rule);
void mo_root_damp(size_t n, const mo_root_rule *rule, double *values);
void mo_root_compose(mo_root_block block, const double *values, double power, float *rows);

#endif
