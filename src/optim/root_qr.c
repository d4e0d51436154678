/* root_qr.c - the root of one block by the eigenvectors of last time, moved by one power
 * iteration and QR, with Rayleigh quotients as eigenvalues. */
#include "linalg/blas.h"
#include "linalg/vector.h"
#include "optim/basis.h"
#include "optim/root_block.h"

#include <string.h>

size_t mo_root_qr_floats(size_t n)
{
  return mo_larger(mo_decompose_work_floats(n),
                   mo_order_floats(n) + mo_scratch_floats(n) + mo_basis_work_floats(n));
}

/* By eigh: the first time, and when moving fails. */
static bool find_basis(mo_root_pass *pass, mo_root_block block, float *basis, float *work)
{
  const size_t n = block.n;
  double *matrix = (double *)(void *)work, *values = matrix + n * n;
  if (!mo_decompose(n, block.pair, block.factor, 0.0, pass->rule->ladder, matrix, values,
                    values + n, pass->counts))
    return false;
  for (size_t i = 0; i < n * n; i++) basis[i] = (float)matrix[i];
  return true;
}

/* The eigenvectors of last time, moved unless they are near enough. */
static bool renew_basis(mo_root_pass *pass, mo_root_block block, float *basis, float *work)
{
  const size_t n = block.n;
  float *rest = work;
  size_t *order = (size_t *)(void *)mo_scratch_take(&rest, mo_order_floats(n));
  mo_basis_result result = MO_BASIS_FAILED;
  if (mo_sum_squares(basis, n * n) > 0.0) {
    result = mo_basis_move(n, block.pair, pass->rule->tolerance, basis, order, rest);
    pass->counts->retries += result == MO_BASIS_FAILED;
  }
  pass->renewed = pass->renewed || result != MO_BASIS_KEPT;
  return result != MO_BASIS_FAILED || find_basis(pass, block, basis, work);
}

void mo_root_by_qr(mo_root_pass *pass, mo_root_block block, float *basis, float *work)
{
  const size_t n = block.n;
  const double shift = mo_root_shift(pass->rule);
  if (!renew_basis(pass, block, basis, work)) return;
  double *values = (double *)(void *)mo_scratch_take(&work, 2 * n);
  float *rows = mo_scratch_take(&work, n * n);
  mo_symm_right(MO_LOWER, n, n, block.pair, n + 1, basis, n, rows, n);
  for (size_t i = 0; i < n; i++) /* Rayleigh quotients */
    values[i] = block.factor * mo_dot(basis + i * n, rows + i * n, n) + shift;
  for (size_t i = 0; i < n; i++) mo_root_observe(pass, block, values[i] - shift);
  mo_root_damp(n, pass->rule, values);
  memcpy(rows, basis, n * n * sizeof *rows);
  mo_root_compose(block, values, pass->rule->power, rows);
}
