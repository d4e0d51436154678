/* row_blocks.h - embedding and head, cut where their optimizer orthogonalises them.
 *
 * Whole, a matrix of one row per token would keep one thread busy and take work memory of four times
 * its size for every thread. So it is registered in blocks of at most four times as many rows as
 * columns, each a parameter of its own: "transformer.wte.weight[0]", ... What is learned is as good
 * (docs/evidence.md, "Embedding and head").
 */
#ifndef MOUSSE_TRAIN_ROW_BLOCKS_H
#define MOUSSE_TRAIN_ROW_BLOCKS_H

#include "gpt/gpt.h"

#include <mousse/mousse.h>

typedef struct row_block {
  char name[96]; /* of its parameter */
  size_t first, rows;
} row_block;

/* Of a tensor that an optimizer with the groups of a run has, or is to have; 1: it is whole. */
size_t row_block_count(const mousse_optimizer *optimizer, const gpt_tensor *tensor);
row_block row_block_at(const gpt_tensor *tensor, size_t count, size_t index);

/* Of all blocks of a tensor together. */
size_t row_blocks_state_bytes(const mousse_optimizer *optimizer, const gpt_tensor *tensor);

#endif
