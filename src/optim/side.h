/* side.h - one side of a matrix in a Kronecker-factored preconditioner, and its memory.
 *
 *     statistics   L <- beta L + (1 - beta) G G^T    (left: rows)
 *                  R <- beta R + (1 - beta) G^T G    (right: columns)
 *     root         P, a symmetric matrix computed from the statistics now and then (root.h)
 *
 * A side longer than `block` is cut into consecutive diagonal blocks that know nothing of each
 * other. Both matrices of a block of n are symmetric, so one n x (n + 1) array, the pair, holds
 * them: the statistics are the lower triangle of the matrix at `pair`, the root is the upper
 * triangle of the matrix at `pair + 1`, both with rows n + 1 apart. Blocks follow one another.
 */
#ifndef MOUSSE_OPTIM_SIDE_H
#define MOUSSE_OPTIM_SIDE_H

#include "optim/shape.h"

#include <stdint.h>

typedef struct mo_side {
  bool right;   /* columns; otherwise rows */
  size_t size;  /* 0: this side is not preconditioned */
  size_t block; /* size, or less */
} mo_side;

/* block 0: not cut. */
mo_side mo_side_make(mo_shape shape, bool right, size_t block);

/* Block after block: its place along the side, its size, its place in the pair. */
typedef struct mo_block {
  size_t start, size, offset;
} mo_block;

mo_block mo_block_first(mo_side side);
bool mo_block_next(mo_side side, mo_block *block); /* false past the last */

#define MO_FOR_BLOCKS(side, at)                                                                \
  for (mo_block at = mo_block_first(side); at.start < (side).size; mo_block_next(side, &at))

size_t mo_pair_floats(mo_side side);

/* One step of the moving average, from the scaled gradient. */
void mo_side_average(mo_side side, mo_shape shape, const float *grad, double beta,
                     uint64_t step, float *pair);

/* y = P x (left) or x P (right); x and y are shape.rows x shape.cols and do not overlap. */
void mo_side_multiply(mo_side side, mo_shape shape, const float *pair, const float *x,
                      float *y);

/* The root of a side that is not cut, as a whole size x size matrix. */
void mo_side_dense(mo_side side, const float *pair, float *dense);

/* The roots of one pair into another. */
void mo_side_copy_root(mo_side side, const float *from, float *to);

/* Sets every root to the identity. */
void mo_side_identity(mo_side side, float *pair);

/* The largest magnitude in the statistics, and their product with a factor; roots are passed
 * over. */
float mo_side_largest(mo_side side, const float *pair);
float mo_side_largest_root(mo_side side, const float *pair); /* the same of the roots */
void mo_side_scale(mo_side side, float *pair, float factor);

#endif
