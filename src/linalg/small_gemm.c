/* small_gemm.c - see small_gemm.h. */
#include "linalg/small_gemm.h"

#include "base/simd.h"
#include "linalg/lanes.h"

/* A panel of B, DEPTH x 16, has half of a first-level cache of 32 kB. */
enum { STRIP = 6, PANEL = 2 * MO_LANES, DEPTH = 256 };

/* How A is read: element (i, k) is at data[i * row_step + k * inner_step]. */
typedef struct left_side {
  const float *data;
  size_t row_step, inner_step;
} left_side;

typedef struct gemm_target {
  float *c;
  size_t stride;
  float alpha, beta;
} gemm_target;

/* rows is a constant where this is inlined: all sums are in registers. */
MO_INLINE void multiply(size_t rows, left_side a, const float *panel, size_t inner,
                        const gemm_target *t)
{
  mo_lanes sum[STRIP][2];
#pragma GCC unroll 6
  for (size_t i = 0; i < rows; i++) sum[i][0] = sum[i][1] = (mo_lanes){0};
  for (size_t k = 0; k < inner; k++) {
    mo_lanes b[2];
    mo_lanes_load(&b[0], panel + k * PANEL);
    mo_lanes_load(&b[1], panel + k * PANEL + MO_LANES);
#pragma GCC unroll 6
    for (size_t i = 0; i < rows; i++) {
      const float x = a.data[i * a.row_step + k * a.inner_step];
      sum[i][0] += x * b[0];
      sum[i][1] += x * b[1];
    }
  }
#pragma GCC unroll 6
  for (size_t i = 0; i < rows; i++)
    for (size_t v = 0; v < 2; v++) {
      float *c = t->c + i * t->stride + v * MO_LANES;
      mo_lanes value = t->alpha * sum[i][v], old;
      if (t->beta != 0.0f) {
        mo_lanes_load(&old, c);
        value += t->beta * old;
      }
      mo_lanes_store(c, &value);
    }
}

MO_INLINE void multiply_some(size_t rows, left_side a, const float *panel, size_t inner,
                             const gemm_target *t)
{
  switch (rows) {
  case 6:
    multiply(6, a, panel, inner, t);
    break;
  case 5:
    multiply(5, a, panel, inner, t);
    break;
  case 4:
    multiply(4, a, panel, inner, t);
    break;
  case 3:
    multiply(3, a, panel, inner, t);
    break;
  case 2:
    multiply(2, a, panel, inner, t);
    break;
  default:
    multiply(1, a, panel, inner, t);
    break;
  }
}

/* Fewer than 16 columns of C. */
MO_INLINE void multiply_edge(size_t rows, size_t cols, left_side a, const float *panel,
                             size_t inner, const gemm_target *t)
{
  float block[STRIP * PANEL];
  const gemm_target whole = {block, PANEL, t->alpha, 0.0f};
  multiply_some(rows, a, panel, inner, &whole);
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j++) {
      float *c = t->c + i * t->stride + j;
      *c = t->beta != 0.0f ? block[i * PANEL + j] + t->beta * *c : block[i * PANEL + j];
    }
}

/* Rows of B as they are; columns that B does not have are 0. */
MO_INLINE void pack_plain(float *panel, const float *b, size_t stride, size_t inner,
                          size_t cols)
{
  for (size_t k = 0; k < inner; k++, b += stride, panel += PANEL) {
    if (cols == PANEL)
      memcpy(panel, b, PANEL * sizeof *panel);
    else
      for (size_t j = 0; j < PANEL; j++) panel[j] = j < cols ? b[j] : 0.0f;
  }
}

/* B is stored as cols x inner. */
MO_INLINE void pack_transposed(float *panel, const float *b, size_t stride, size_t inner,
                               size_t cols)
{
  size_t done = 0;
  for (; cols == PANEL && done + MO_LANES <= inner; done += MO_LANES)
    for (size_t half = 0; half < 2; half++) {
      mo_lanes block[MO_LANES];
      for (size_t j = 0; j < MO_LANES; j++)
        mo_lanes_load(&block[j], b + (half * MO_LANES + j) * stride + done);
      mo_lanes_transpose(block);
      for (size_t k = 0; k < MO_LANES; k++)
        mo_lanes_store(panel + (done + k) * PANEL + half * MO_LANES, &block[k]);
    }
  for (; done < inner; done++)
    for (size_t j = 0; j < PANEL; j++)
      panel[done * PANEL + j] = j < cols ? b[j * stride + done] : 0.0f;
}

typedef struct product {
  mo_transpose transpose_a, transpose_b;
  size_t rows, cols, diagonal;
  left_side a;
  const float *b;
  size_t b_stride;
  gemm_target to;
} product;

typedef struct depth_span {
  size_t first, end;
} depth_span;

static inline size_t less(size_t a, size_t b)
{
  return a < b ? a : b;
}

/* The part of the inner dimension, within `some` from `depth` on, that counts for `count` rows; of
 * scores, for the panel at `col`. */
static inline depth_span wanted(const product *p, size_t row, size_t count, size_t col,
                                size_t depth, size_t some)
{
  if (p->diagonal == MO_NO_DIAGONAL) return (depth_span){0, some};
  const size_t last = p->diagonal + row + count; /* the first key that no row sees */
  if (p->transpose_b == MO_TRANSPOSED) return (depth_span){0, col < last ? some : 0};
  if (p->transpose_a == MO_PLAIN)
    return (depth_span){0, last > depth ? less(last - depth, some) : 0};
  const size_t first = row > p->diagonal ? row - p->diagonal : 0; /* the first query */
  return (depth_span){first > depth ? less(first - depth, some) : 0, some};
}

MO_CLONES(static void multiply_depth(const product *p, size_t depth, size_t some))
{
  float panel[DEPTH * PANEL];
  for (size_t col = 0; col < p->cols; col += PANEL) {
    const size_t width = less(p->cols - col, PANEL);
    if (p->transpose_b == MO_PLAIN)
      pack_plain(panel, p->b + depth * p->b_stride + col, p->b_stride, some, width);
    else
      pack_transposed(panel, p->b + col * p->b_stride + depth, p->b_stride, some, width);
    for (size_t row = 0; row < p->rows; row += STRIP) {
      const size_t count = less(p->rows - row, STRIP);
      const depth_span k = wanted(p, row, count, col, depth, some);
      left_side a = p->a;
      gemm_target to = p->to;
      if (k.end == 0 && p->transpose_b == MO_TRANSPOSED && some > 0) continue;
      a.data += row * a.row_step + (depth + k.first) * a.inner_step;
      to.c += row * to.stride + col;
      if (depth > 0) to.beta = 1.0f;
      if (width == PANEL)
        multiply_some(count, a, panel + k.first * PANEL, k.end - k.first, &to);
      else
        multiply_edge(count, width, a, panel + k.first * PANEL, k.end - k.first, &to);
    }
  }
}

void mo_block_gemm(mo_transpose transpose_a, mo_transpose transpose_b, size_t rows, size_t cols,
                   size_t inner, size_t diagonal, float alpha, const float *a, size_t a_stride,
                   const float *b, size_t b_stride, float beta, float *c, size_t c_stride)
{
  const bool plain = transpose_a == MO_PLAIN;
  const product p = {.transpose_a = transpose_a,
                     .transpose_b = transpose_b,
                     .rows = rows,
                     .cols = cols,
                     .diagonal = diagonal,
                     .a = {a, plain ? a_stride : 1, plain ? 1 : a_stride},
                     .b = b,
                     .b_stride = b_stride,
                     .to = {c, c_stride, alpha, beta}};
  size_t depth = 0;
  do {
    multiply_depth(&p, depth, less(inner - depth, DEPTH));
    depth += DEPTH;
  } while (depth < inner);
}

#if defined(__x86_64__) && !defined(MO_NO_CLONES) && defined(__GNUC__) && !defined(__clang__)
static bool has_fast_blocks(void)
{
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         !__builtin_cpu_supports("avx512f");
}
#else
static bool has_fast_blocks(void)
{
  return false;
}
#endif

/* As measured: B fits the second-level cache; a transposed A, whose rows lie apart, is worth it
 * for small heads. */
static bool pays(mo_transpose transpose_a, size_t cols, size_t inner)
{
  enum { LARGEST = 1 << 17, LARGEST_HEAD = 64 };
  if (transpose_a == MO_TRANSPOSED && (cols > LARGEST_HEAD || inner > LARGEST_HEAD))
    return false;
  return inner * cols <= LARGEST && has_fast_blocks();
}

void mo_small_gemm(mo_transpose transpose_a, mo_transpose transpose_b, size_t rows, size_t cols,
                   size_t inner, size_t diagonal, float alpha, const float *a, size_t a_stride,
                   const float *b, size_t b_stride, float beta, float *c, size_t c_stride)
{
  if (pays(transpose_a, cols, inner))
    mo_block_gemm(transpose_a, transpose_b, rows, cols, inner, diagonal, alpha, a, a_stride, b,
                  b_stride, beta, c, c_stride);
  else
    mo_gemm(transpose_a, transpose_b, rows, cols, inner, alpha, a, a_stride, b, b_stride, beta,
            c, c_stride);
}
