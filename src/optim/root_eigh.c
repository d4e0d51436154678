/* root_eigh.c - the root of one block by its eigenvalues, in double: the reference. */
#include "optim/basis.h"
#include "optim/root_block.h"

#include <string.h>

size_t mo_root_eigh_floats(size_t n)
{
  return mo_decompose_work_floats(n);
}

/* Doubles become floats in their own memory: writing never gets ahead of reading. */
static float *narrow(double *x, size_t count)
{
  float *narrowed = (float *)(void *)x;
  for (size_t i = 0; i < count; i++) {
    double wide;
    memcpy(&wide, x + i, sizeof wide);
    const float value = (float)wide;
    memcpy(narrowed + i, &value, sizeof value);
  }
  return narrowed;
}

void mo_root_by_eigh(mo_root_pass *pass, mo_root_block block, float *work)
{
  const size_t n = block.n;
  const double shift = mo_root_shift(pass->rule);
  double *matrix = (double *)(void *)work, *values = matrix + n * n;
  if (!mo_decompose(n, block.pair, block.factor, shift, pass->rule->ladder, matrix, values,
                    values + n, pass->counts))
    return;
  for (size_t i = 0; i < n; i++) mo_root_observe(pass, block, values[i] - shift);
  mo_root_damp(n, pass->rule, values);
  mo_root_compose(block, values, pass->rule->power, narrow(matrix, n * n));
}
