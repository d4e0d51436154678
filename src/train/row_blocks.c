/* row_blocks.c - see row_blocks.h. */
#include "train/row_blocks.h"

#include "train/scalar_opt.h"

#include <stdio.h>

size_t row_block_count(const mousse_optimizer *optimizer, const gpt_tensor *tensor)
{
  const char *algorithm = mousse_group_algorithm(optimizer, (int)tensor->role);
  const size_t most = 4 * tensor->cols;
  if (tensor->role == GPT_MATRIX || !optimizer_orthogonalises(algorithm)) return 1;
  return (tensor->rows + most - 1) / most;
}

row_block row_block_at(const gpt_tensor *tensor, size_t count, size_t index)
{
  row_block block = {.first = tensor->rows * index / count};
  block.rows = tensor->rows * (index + 1) / count - block.first;
  if (count == 1)
    snprintf(block.name, sizeof block.name, "%s", tensor->name);
  else
    snprintf(block.name, sizeof block.name, "%s[%zu]", tensor->name, index);
  return block;
}

size_t row_blocks_state_bytes(const mousse_optimizer *optimizer, const gpt_tensor *tensor)
{
  const size_t count = row_block_count(optimizer, tensor);
  size_t bytes = 0;
  for (size_t i = 0; i < count; i++)
    bytes += mousse_param_state_bytes(optimizer, row_block_at(tensor, count, i).name);
  return bytes;
}
