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

/* The eigenvectors of last time, moved unless they are near enough; by eigh the first time, while
 * the statistics cannot have full rank, and when moving fails. */
static bool renew_basis(mo_root_pass *pass, mo_root_block block, float *basis, float *work)
{
  const size_t n = block.n;
  float *rest = work;
  size_t *order = (size_t *)(void *)mo_scratch_take(&rest, mo_order_floats(n));
  const mo_root_rule *rule = pass->rule;
  mo_basis_result result = MO_BASIS_FAILED;
  if (rule->spanned > 0.0 && rule->spanned < (double)n) {
    float *values = mo_scratch_take(&rest, n);
    if (mo_basis_near(n, block.pair, rule->tolerance, basis, values, rest))
      result = MO_BASIS_KEPT;
  } else if (mo_sum_squares(basis, n * n) > 0.0) {
    result = mo_basis_move(n, block.pair, rule->tolerance, basis, order, rest);
    pass->counts->retries += result == MO_BASIS_FAILED;
  }
  pass->renewed = pass->renewed || result != MO_BASIS_KEPT;
  return result != MO_BASIS_FAILED ||
         mo_basis_find(n, block.pair, rule->ladder, basis, work, pass->counts);
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
