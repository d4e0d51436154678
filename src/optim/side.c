/* side.c - one side of a matrix in a Kronecker-factored preconditioner. */
#include "optim/side.h"

#include "linalg/blas.h"
#include "linalg/vector.h"
#include "optim/averages.h"

#include <math.h>
#include <string.h>

mo_side mo_side_make(mo_shape shape, bool right, size_t block)
{
  const size_t size = right ? shape.cols : shape.rows;
  return (mo_side){right, size, block == 0 || block > size ? size : block};
}

mo_block mo_block_first(mo_side side)
{
  return (mo_block){0, side.block, 0};
}

bool mo_block_next(mo_side side, mo_block *block)
{
  block->offset += block->size * (block->size + 1);
  block->start += block->size;
  const size_t left = side.size - block->start;
  block->size = left < side.block ? left : side.block;
  return left > 0;
}

size_t mo_pair_floats(mo_side side)
{
  size_t floats = 0;
  MO_FOR_BLOCKS(side, at) floats += at.size * (at.size + 1);
  return floats;
}

void mo_side_average(mo_side side, mo_shape shape, const float *grad, double beta,
                     uint64_t step, float *pair)
{
  const float keep = mo_float_beta(beta, step), add = (float)(1.0 - beta);
  MO_FOR_BLOCKS(side, at)
  {
    float *statistics = pair + at.offset;
    if (side.right)
      mo_syrk(MO_LOWER, MO_TRANSPOSED, at.size, shape.rows, add, grad + at.start, shape.cols,
              keep, statistics, at.size + 1);
    else
      mo_syrk(MO_LOWER, MO_PLAIN, at.size, shape.cols, add, grad + at.start * shape.cols,
              shape.cols, keep, statistics, at.size + 1);
  }
}

void mo_side_multiply(mo_side side, mo_shape shape, const float *pair, const float *x, float *y)
{
  const size_t cols = shape.cols;
  MO_FOR_BLOCKS(side, at)
  {
    const float *root = pair + at.offset + 1;
    if (side.right)
      mo_symm_right(MO_UPPER, shape.rows, at.size, root, at.size + 1, x + at.start, cols,
                    y + at.start, cols);
    else
      mo_symm_left(MO_UPPER, at.size, cols, root, at.size + 1, x + at.start * cols, cols,
                   y + at.start * cols, cols);
  }
}

void mo_side_dense(mo_side side, const float *pair, float *dense)
{
  const size_t n = side.size;
  for (size_t i = 0; i < n; i++)
    memcpy(dense + i * (n + 1), pair + 1 + i * (n + 2), (n - i) * sizeof *dense);
  mo_mirror_upper(n, dense, n);
}

void mo_side_copy_root(mo_side side, const float *from, float *to)
{
  MO_FOR_BLOCKS(side, at)
  for (size_t i = 0; i < at.size; i++) {
    const size_t place = at.offset + i * (at.size + 2) + 1;
    memcpy(to + place, from + place, (at.size - i) * sizeof *to);
  }
}

void mo_side_identity(mo_side side, float *pair)
{
  MO_FOR_BLOCKS(side, at)
  for (size_t i = 0; i < at.size; i++)
    for (size_t j = i; j < at.size; j++)
      pair[at.offset + i * (at.size + 1) + j + 1] = i == j ? 1.0f : 0.0f;
}

float mo_side_largest(mo_side side, const float *pair)
{
  float largest = 0.0f;
  MO_FOR_BLOCKS(side, at)
  for (size_t i = 0; i < at.size; i++)
    largest = fmaxf(largest, mo_largest(pair + at.offset + i * (at.size + 1), i + 1));
  return largest;
}

float mo_side_largest_root(mo_side side, const float *pair)
{
  float largest = 0.0f;
  MO_FOR_BLOCKS(side, at)
  for (size_t i = 0; i < at.size; i++)
    largest = fmaxf(largest, mo_largest(pair + at.offset + i * (at.size + 2) + 1, at.size - i));
  return largest;
}

void mo_side_scale(mo_side side, float *pair, float factor)
{
  MO_FOR_BLOCKS(side, at)
  for (size_t i = 0; i < at.size; i++)
    mo_scale(pair + at.offset + i * (at.size + 1), i + 1, factor);
}
