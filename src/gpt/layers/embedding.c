/* embedding.c - y[t] = table[token[t]]; backward adds each row back where it came from. */
#include "gpt/layers/layers.h"

#include <string.h>

void embedding_forward(float *y, const float *table, const uint32_t *tokens, size_t rows,
                       size_t width)
{
  for (size_t i = 0; i < rows; i++)
    memcpy(y + i * width, table + tokens[i] * width, width * sizeof *y);
}

/* Split by columns, not by rows: two rows may carry the same token, and the order in which they
 * are added must not depend on the threads. */
void embedding_backward(float *d_table, const float *d_y, const uint32_t *tokens, size_t rows,
                        size_t width, size_t first, size_t last)
{
  for (size_t i = 0; i < rows; i++) {
    float *to = d_table + tokens[i] * width;
    const float *from = d_y + i * width;
    for (size_t j = first; j < last; j++) to[j] += from[j];
  }
}
