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
#include "linalg/block_gemm.h"

#include <math.h>

/* Rows of scores are padded to whole vectors of the widest kind, and a row is worked on from the
 * start of the vector with its first key to the end of that with its last: loops without a rest,
 * which would take longer than the vectors. */
enum { VECTOR = 16 };

static inline size_t whole_vectors(size_t count)
{
  return (count + VECTOR - 1) / VECTOR * VECTOR;
}

size_t attention_scratch(size_t positions)
{
  return 2 * ATTENTION_BLOCK * whole_vectors(positions);
}

/* The keys that a block works on begin at `low`. */
static inline size_t block_low(const uint32_t *starts)
{
  return starts != NULL ? starts[0] : 0;
}

/* What row i sees of the block's keys, [begin, end), and the vectors that hold them. */
typedef struct seen_keys {
  size_t begin, end, first, last;
} seen_keys;

static inline seen_keys keys_of_row(size_t i, size_t diagonal, const uint32_t *starts)
{
  const size_t begin = starts != NULL ? starts[i] - starts[0] : 0, end = diagonal + i + 1;
  return (seen_keys){begin, end, begin / VECTOR * VECTOR, whole_vectors(end)};
}

static inline void fill(float *x, size_t first, size_t end, float value)
{
  for (size_t j = first; j < end; j++) x[j] = value;
}

/* Scores become exp(score - the row's largest), which is not P yet: what is left to divide by is
 * in `sums`. */
MO_CLONES(static void softmax_rows(float *scores, size_t stride, size_t diagonal, size_t rows,
                                   const uint32_t *starts, float *sums, float *log_sum))
{
  for (size_t i = 0; i < rows; i++) {
    const seen_keys k = keys_of_row(i, diagonal, starts);
    float *row = scores + i * stride, top = row[k.begin], sum = 0.0f;
    fill(row, k.first, k.begin, -INFINITY);
    fill(row, k.end, k.last, -INFINITY);
#pragma omp simd reduction(max : top)
    for (size_t j = k.first; j < k.last; j++) top = row[j] > top ? row[j] : top;
#pragma omp simd reduction(+ : sum)
    for (size_t j = k.first; j < k.last; j++) {
      const float e = row[j] == -INFINITY ? 0.0f : fast_exp(row[j] - top);
      row[j] = e;
      sum += e;
    }
    fill(row, 0, k.first, 0.0f);
    fill(row, k.last, stride, 0.0f);
    sums[i] = sum;
    if (log_sum != NULL) log_sum[i] = top + logf(sum);
  }
}

MO_CLONES(static void divide_rows(float *y, size_t stride, const float *sums, size_t rows,
                                  size_t head_size))
{
  for (size_t i = 0; i < rows; i++) {
    const float inverse = 1.0f / sums[i];
    for (size_t j = 0; j < head_size; j++) y[i * stride + j] *= inverse;
  }
}

/* A head's part of a row is a line or two of the cache, far from that of the next row: the processor
 * does not see what comes and would wait for every one. The eight matrices of a longer head do not
 * fit the second level together. */
static void fetch_rows(const float *x, size_t stride, size_t rows, size_t head_size)
{
  enum { LINE = 16, SECOND_LEVEL = 2, MOST = 1 << 14 };
  if (rows * head_size > MOST) return;
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < head_size; j += LINE)
      __builtin_prefetch(x + i * stride + j, 0, SECOND_LEVEL);
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
  const size_t stride = whole_vectors(width);
  float sums[ATTENTION_BLOCK];
  mo_tile_gemm(MO_PLAIN, MO_TRANSPOSED, rows, width, head_size, first - low, scale, q, q_stride,
               k, kv_stride, 0.0f, scratch, stride);
  softmax_rows(scratch, stride, first - low, rows, starts, sums, log_sum);
  mo_tile_gemm(MO_PLAIN, MO_PLAIN, rows, head_size, width, first - low, 1.0f, scratch, stride,
               v, kv_stride, 0.0f, y, y_stride);
  divide_rows(y, y_stride, sums, rows, head_size);
}

/* scores -> P, d_p -> dS; d_y and y are the block's output rows. */
MO_CLONES(static void softmax_rows_backward(float *scores, float *d_p, size_t stride,
                                            size_t diagonal, size_t rows,
                                            const uint32_t *starts, const float *log_sum,
                                            const float *d_y, const float *y, size_t y_stride,
                                            size_t head_size))
{
  for (size_t i = 0; i < rows; i++) {
    const seen_keys k = keys_of_row(i, diagonal, starts);
    float *p = scores + i * stride, *ds = d_p + i * stride, dot = 0.0f;
    const float *dy_row = d_y + i * y_stride, *y_row = y + i * y_stride;
#pragma omp simd reduction(+ : dot)
    for (size_t j = 0; j < head_size; j++) dot += dy_row[j] * y_row[j];
    const float log_of_sum = log_sum[i];
#pragma omp simd
    for (size_t j = k.first; j < k.last; j++) {
      p[j] = fast_exp(p[j] - log_of_sum);
      ds[j] = p[j] * (ds[j] - dot);
    }
    fill(p, 0, k.begin, 0.0f);
    fill(ds, 0, k.begin, 0.0f);
    fill(p, k.end, stride, 0.0f);
    fill(ds, k.end, stride, 0.0f);
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
  fetch_rows(q, stride, rows, head_size);
  fetch_rows(k, stride, rows, head_size);
  fetch_rows(v, stride, rows, head_size);
  fetch_rows(d_y, y_stride, rows, head_size);
  fetch_rows(y, y_stride, rows, head_size);
  fetch_rows(d_q, stride, rows, head_size);
  fetch_rows(d_k, stride, rows, head_size);
  fetch_rows(d_v, stride, rows, head_size);
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
    const size_t s_stride = whole_vectors(width);
    float *p = scratch, *ds = scratch + ATTENTION_BLOCK * s_stride;
    if (last && !add_all) clear_rows(d_k, stride, low, head_size);
    if (last && !add_all) clear_rows(d_v, stride, low, head_size);

    mo_tile_gemm(MO_PLAIN, MO_TRANSPOSED, count, width, head_size, diagonal, scale, q_block,
                 stride, keys, stride, 0.0f, p, s_stride);
    mo_tile_gemm(MO_PLAIN, MO_TRANSPOSED, count, width, head_size, diagonal, 1.0f, dy_block,
                 y_stride, values, stride, 0.0f, ds, s_stride);
    softmax_rows_backward(p, ds, s_stride, diagonal, count, own, log_sum + first, dy_block,
                          y + first * y_stride, y_stride, head_size);
    mo_tile_gemm(MO_TRANSPOSED, MO_PLAIN, width, head_size, count, diagonal, 1.0f, p, s_stride,
                 dy_block, y_stride, add, d_v + low * stride, stride);
    mo_tile_gemm(MO_PLAIN, MO_PLAIN, count, head_size, width, diagonal, scale, ds, s_stride,
                 keys, stride, 0.0f, d_q + first * stride, stride);
    mo_tile_gemm(MO_TRANSPOSED, MO_PLAIN, width, head_size, count, diagonal, scale, ds,
                 s_stride, q_block, stride, add, d_k + low * stride, stride);
  }
}
