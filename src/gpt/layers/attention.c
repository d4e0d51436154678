/* attention.c - causal softmax attention of one head, a block of query rows at a time, within
 * documents where their starts are given: a row sees the keys from starts[row] on.
 *
 *     S = Q K^T / sqrt(D),  P = softmax of S over keys not later than the query,  Y = P V
 *
 * A block of rows sees only the keys up to its own end, so what lies above the diagonal is
 * skipped but for one block's corner, as is what comes before the document of the block's first
 * row, and no array is larger than block x positions. Forward
 * keeps log(sum exp(S)) per row; backward computes P again from it:
 *
 *     dP = dY V^T,  dS = P (dP - rowsum(dY Y)),
 *     dV = P^T dY,  dQ = dS K / sqrt(D),  dK = dS^T Q / sqrt(D)
 */
#include "base/simd.h"
#include "gpt/layers/exp.h"
#include "gpt/layers/layers.h"
#include "linalg/small_gemm.h"

#include <math.h>

size_t attention_scratch(size_t positions)
{
  return 2 * ATTENTION_BLOCK * positions;
}

/* The row's first `valid` scores become exp(score - max), the others 0; returns their sum and
 * stores the maximum. */
static inline float exponentiate(float *scores, size_t valid, size_t width, float *maximum)
{
  float top = scores[0], sum = 0.0f;
#pragma omp simd reduction(max : top)
  for (size_t j = 0; j < valid; j++) top = scores[j] > top ? scores[j] : top;
#pragma omp simd reduction(+ : sum)
  for (size_t j = 0; j < valid; j++) {
    const float e = fast_exp(scores[j] - top);
    scores[j] = e;
    sum += e;
  }
  for (size_t j = valid; j < width; j++) scores[j] = 0.0f;
  *maximum = top;
  return sum;
}

/* The keys that a block works on begin at `low`; row i sees those of them from `begin` on. */
static inline size_t block_low(const uint32_t *starts)
{
  return starts != NULL ? starts[0] : 0;
}
static inline size_t row_begin(const uint32_t *starts, size_t i)
{
  return starts != NULL ? starts[i] - starts[0] : 0;
}

/* Row i may see keys up to first + i. */
MO_CLONES(static void softmax_rows(float *scores, size_t width, size_t first, size_t rows,
                                   const uint32_t *starts, float *log_sum))
{
  for (size_t i = 0; i < rows; i++) {
    const size_t begin = row_begin(starts, i), valid = first + i + 1 - begin;
    float *row = scores + i * width + begin, top = 0.0f;
    for (size_t j = 0; j < begin; j++) scores[i * width + j] = 0.0f;
    const float sum = exponentiate(row, valid, width - begin, &top), inverse = 1.0f / sum;
#pragma omp simd
    for (size_t j = 0; j < valid; j++) row[j] *= inverse;
    if (log_sum != NULL) log_sum[i] = top + logf(sum);
  }
}

void attention_forward(float *y, size_t y_stride, float *log_sum, const float *q,
                       size_t q_stride, const float *k, const float *v, size_t kv_stride,
                       size_t first, size_t rows, size_t head_size, const uint32_t *starts,
                       float *scratch)
{
  const size_t low = block_low(starts);
  const size_t width = first + rows - low; /* keys that some row of the block sees */
  const float scale = 1.0f / sqrtf((float)head_size);
  k += low * kv_stride;
  v += low * kv_stride;
  mo_small_gemm(MO_PLAIN, MO_TRANSPOSED, rows, width, head_size, first - low, scale, q,
                q_stride, k, kv_stride, 0.0f, scratch, width);
  softmax_rows(scratch, width, first - low, rows, starts, log_sum);
  mo_small_gemm(MO_PLAIN, MO_PLAIN, rows, head_size, width, first - low, 1.0f, scratch, width,
                v, kv_stride, 0.0f, y, y_stride);
}

/* scores -> P, d_p -> dS, both rows x width; d_y and y are the block's output rows. */
MO_CLONES(static void softmax_rows_backward(float *scores, float *d_p, size_t width,
                                            size_t first, size_t rows, const uint32_t *starts,
                                            const float *log_sum, const float *d_y,
                                            const float *y, size_t y_stride, size_t head_size))
{
  for (size_t i = 0; i < rows; i++) {
    const size_t begin = row_begin(starts, i), valid = first + i + 1 - begin;
    float *p = scores + i * width + begin, *ds = d_p + i * width + begin;
    const float *dy_row = d_y + i * y_stride, *y_row = y + i * y_stride;
    for (size_t j = 0; j < begin; j++) scores[i * width + j] = d_p[i * width + j] = 0.0f;
    float dot = 0.0f;
#pragma omp simd reduction(+ : dot)
    for (size_t j = 0; j < head_size; j++) dot += dy_row[j] * y_row[j];
    const float log_of_sum = log_sum[i];
#pragma omp simd
    for (size_t j = 0; j < valid; j++) {
      const float probability = fast_exp(p[j] - log_of_sum);
      p[j] = probability;
      ds[j] = probability * (ds[j] - dot);
    }
    for (size_t j = valid; j < width - begin; j++) p[j] = ds[j] = 0.0f;
  }
}

/* Keys and values before the last block's documents are not set by it. */
static void clear_rows(float *x, size_t stride, size_t rows, size_t head_size)
{
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < head_size; j++) x[i * stride + j] = 0.0f;
}

void attention_backward(float *d_q, float *d_k, float *d_v, const float *d_y, const float *y,
                        size_t y_stride, const float *log_sum, const float *q, const float *k,
                        const float *v, size_t stride, size_t rows, size_t head_size,
                        bool add_all, const uint32_t *starts, float *scratch)
{
  const float scale = 1.0f / sqrtf((float)head_size);
  const size_t blocks = (rows + ATTENTION_BLOCK - 1) / ATTENTION_BLOCK;
  /* From the last block: it sets d_k and d_v of the keys that it sees, the others add. */
  for (size_t block = blocks; block-- > 0;) {
    const size_t first = block * ATTENTION_BLOCK;
    const size_t count = rows - first < ATTENTION_BLOCK ? rows - first : ATTENTION_BLOCK;
    const uint32_t *own = starts != NULL ? starts + first : NULL;
    const size_t low = block_low(own), width = first + count - low, diagonal = first - low;
    const bool last = first + count == rows;
    const float add = add_all || !last ? 1.0f : 0.0f;
    const float *q_block = q + first * stride, *dy_block = d_y + first * y_stride;
    const float *keys = k + low * stride, *values = v + low * stride;
    float *p = scratch, *ds = scratch + ATTENTION_BLOCK * width;
    if (last && !add_all) clear_rows(d_k, stride, low, head_size);
    if (last && !add_all) clear_rows(d_v, stride, low, head_size);

    mo_small_gemm(MO_PLAIN, MO_TRANSPOSED, count, width, head_size, diagonal, scale, q_block,
                  stride, keys, stride, 0.0f, p, width);
    mo_small_gemm(MO_PLAIN, MO_TRANSPOSED, count, width, head_size, diagonal, 1.0f, dy_block,
                  y_stride, values, stride, 0.0f, ds, width);
    softmax_rows_backward(p, ds, width, diagonal, count, own, log_sum + first, dy_block,
                          y + first * y_stride, y_stride, head_size);
    mo_small_gemm(MO_TRANSPOSED, MO_PLAIN, width, head_size, count, diagonal, 1.0f, p, width,
                  dy_block, y_stride, add, d_v + low * stride, stride);
    mo_small_gemm(MO_PLAIN, MO_PLAIN, count, head_size, width, diagonal, scale, ds, width, keys,
                  stride, 0.0f, d_q + first * stride, stride);
    mo_small_gemm(MO_TRANSPOSED, MO_PLAIN, width, head_size, count, diagonal, scale, ds, width,
                  q_block, stride, add, d_k + low * stride, stride);
  }
}
