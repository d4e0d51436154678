/* attention.c - causal softmax attention of one head, a block of query rows at a time.
 *
 *     S = Q K^T / sqrt(D),  P = softmax of S over keys not later than the query,  Y = P V
 *
 * A block of rows sees only the keys up to its own end, so what lies above the diagonal is
 * skipped but for one block's corner, and no array is larger than block x positions. Forward
 * keeps log(sum exp(S)) per row; backward computes P again from it:
 *
 *     dP = dY V^T,  dS = P (dP - rowsum(dY Y)),
 *     dV = P^T dY,  dQ = dS K / sqrt(D),  dK = dS^T Q / sqrt(D)
 */
#include "base/simd.h"
#include "gpt/layers/exp.h"
#include "gpt/layers/layers.h"
#include "linalg/blas.h"

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

/* Row i may see first + i + 1 keys. */
MO_CLONES static void softmax_rows(float *scores, size_t width, size_t first, size_t rows,
                                   float *log_sum)
{
  for (size_t i = 0; i < rows; i++) {
    float *row = scores + i * width, top = 0.0f;
    const size_t valid = first + i + 1;
    const float sum = exponentiate(row, valid, width, &top), inverse = 1.0f / sum;
#pragma omp simd
    for (size_t j = 0; j < valid; j++) row[j] *= inverse;
    if (log_sum != NULL) log_sum[i] = top + logf(sum);
  }
}

void attention_forward(float *y, size_t y_stride, float *log_sum, const float *q,
                       size_t q_stride, const float *k, const float *v, size_t kv_stride,
                       size_t first, size_t rows, size_t head_size, float *scratch)
{
  const size_t width = first + rows; /* keys that some row of the block sees */
  const float scale = 1.0f / sqrtf((float)head_size);
  mo_gemm(MO_PLAIN, MO_TRANSPOSED, rows, width, head_size, scale, q, q_stride, k, kv_stride,
          0.0f, scratch, width);
  softmax_rows(scratch, width, first, rows, log_sum);
  mo_gemm(MO_PLAIN, MO_PLAIN, rows, head_size, width, 1.0f, scratch, width, v, kv_stride, 0.0f,
          y, y_stride);
}

/* scores -> P, d_p -> dS, both rows x width; d_y and y are the block's output rows. */
MO_CLONES static void softmax_rows_backward(float *scores, float *d_p, size_t width,
                                            size_t first, size_t rows, const float *log_sum,
                                            const float *d_y, const float *y, size_t y_stride,
                                            size_t head_size)
{
  for (size_t i = 0; i < rows; i++) {
    float *p = scores + i * width, *ds = d_p + i * width;
    const float *dy_row = d_y + i * y_stride, *y_row = y + i * y_stride;
    const size_t valid = first + i + 1;
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
    for (size_t j = valid; j < width; j++) p[j] = ds[j] = 0.0f;
  }
}

void attention_backward(float *d_q, float *d_k, float *d_v, const float *d_y, const float *y,
                        size_t y_stride, const float *log_sum, const float *q, const float *k,
                        const float *v, size_t stride, size_t rows, size_t head_size,
                        bool add_all, float *scratch)
{
  const float scale = 1.0f / sqrtf((float)head_size);
  const size_t blocks = (rows + ATTENTION_BLOCK - 1) / ATTENTION_BLOCK;
  /* From the last block, which sees every key: it sets d_k and d_v, the others add. */
  for (size_t block = blocks; block-- > 0;) {
    const size_t first = block * ATTENTION_BLOCK;
    const size_t count = rows - first < ATTENTION_BLOCK ? rows - first : ATTENTION_BLOCK;
    const size_t width = first + count;
    const float add = add_all || width < rows ? 1.0f : 0.0f;
    const float *q_block = q + first * stride, *dy_block = d_y + first * y_stride;
    float *p = scratch, *ds = scratch + ATTENTION_BLOCK * width;

    mo_gemm(MO_PLAIN, MO_TRANSPOSED, count, width, head_size, scale, q_block, stride, k, stride,
            0.0f, p, width);
    mo_gemm(MO_PLAIN, MO_TRANSPOSED, count, width, head_size, 1.0f, dy_block, y_stride, v,
            stride, 0.0f, ds, width);
    softmax_rows_backward(p, ds, width, first, count, log_sum + first, dy_block,
                          y + first * y_stride, y_stride, head_size);
    mo_gemm(MO_TRANSPOSED, MO_PLAIN, width, head_size, count, 1.0f, p, width, dy_block,
            y_stride, add, d_v, stride);
    mo_gemm(MO_PLAIN, MO_PLAIN, count, head_size, width, scale, ds, width, k, stride, 0.0f,
            d_q + first * stride, stride);
    mo_gemm(MO_TRANSPOSED, MO_PLAIN, width, head_size, count, scale, ds, width, q_block, stride,
            add, d_k, stride);
  }
}
