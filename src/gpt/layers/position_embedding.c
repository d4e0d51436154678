/* position_embedding.c - y[t] += table[position of t]: a learned row for every position.
 *
 * Backward adds each row back where it came from, by columns, as embedding.c does.
 */
#include "gpt/layers/layers.h"

void position_embedding_forward(float *y, const float *table, size_t first, size_t rows,
                                size_t length, size_t width)
{
  for (size_t i = 0; i < rows; i++, y += width) {
    const float *row = table + (first + i) % length * width;
    for (size_t j = 0; j < width; j++) y[j] += row[j];
  }
}

void position_embedding_backward(float *d_table, const float *d_y, size_t rows, size_t length,
                                 size_t width, size_t first, size_t last)
{
  for (size_t i = 0; i < rows; i++) {
    float *to = d_table + i % length * width;
    const float *from = d_y + i * width;
    for (size_t j = first; j < last; j++) to[j] += from[j];
  }
}
