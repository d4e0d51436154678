/* block_gemm.c - see block_gemm.h. */
#include "linalg/block_gemm.h"

#include "base/simd.h"
#include "linalg/blas_core.h"
#include "linalg/gemm_strip.h"
#include "linalg/lanes.h"

/* A panel of B, DEPTH x 16, has half of a first-level cache of 32 kB, and two, where they are used, two
 * thirds of one of 48. Blocks of C stay in the second
 * level while the inner dimension is walked. A block of A that is copied, BLOCK_ROWS x COPIED_DEPTH
 * and its margin, has 200 kB there, and of the stack. */
enum { PANEL = MO_PANEL, DEPTH = 256, COPIED_DEPTH = 128, MARGIN = 2 };
enum { BLOCK_ROWS = 384, BLOCK_COLS = 768 };

MO_INLINE void multiply(bool wide, size_t rows, const mo_left_side *a, const float *panel,
                        size_t inner, const mo_gemm_target *to)
{
  if (wide)
    mo_strip_wide(rows, a, panel, inner, to);
  else
    mo_strip_lanes(rows, a, panel, inner, to);
}

/* Fewer than 16 columns of C. */
MO_INLINE void multiply_edge(bool wide, size_t rows, size_t cols, const mo_left_side *a,
                             const float *panel, size_t inner, const mo_gemm_target *t)
{
  float block[MO_WIDE_STRIP * PANEL];
  const mo_gemm_target whole = {block, PANEL, t->alpha, 0.0f};
  multiply(wide, rows, a, panel, inner, &whole);
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j++) {
      float *c = t->c + i * t->stride + j;
      *c = t->beta != 0.0f ? block[i * PANEL + j] + t->beta * *c : block[i * PANEL + j];
    }
}

/* Rows that lie far apart are on pages that the processor does not fetch ahead by itself. */
MO_INLINE void fetch_ahead(const float *row, size_t stride, size_t left, size_t count)
{
  enum { AHEAD = 12, LINE = 16 };
  if (left <= AHEAD) return;
  for (size_t j = 0; j < count; j += LINE) __builtin_prefetch(row + AHEAD * stride + j);
}

/* Rows of B as they are; columns that B does not have are 0. */
MO_INLINE void pack_plain(float *panel, const float *b, size_t stride, size_t inner,
                          size_t cols)
{
  for (size_t k = 0; k < inner; k++, b += stride, panel += PANEL) {
    fetch_ahead(b, stride, inner - k, cols);
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
  size_t rows, cols, diagonal, strip;
  mo_left_side a;
  const float *b;
  size_t b_stride;
  mo_gemm_target to;
  bool wide, pairs; /* vectors of 512 bits; two panels at a time */
} product;

typedef struct depth_span {
  size_t first, end;
} depth_span;

/* A block of C, and the part of the inner dimension that is at work. */
typedef struct gemm_block {
  size_t row, rows, col, col_end, depth, some;
} gemm_block;

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

/* Some rows of A, which is stored transposed: strip after strip, each in the order in which it is
 * read. Without the margin, strips would lie a power of two apart and push each other out of the
 * cache. */
MO_CLONES(static void pack_left(float *packed, const float *a, size_t stride, size_t some,
                                size_t rows))
{
  for (size_t k = 0; k < some; k++, a += stride) {
    fetch_ahead(a, stride, some - k, rows);
    for (size_t row = 0; row < rows; row += MO_WIDE_STRIP) {
      float *to = packed + row * (some + MARGIN) + k * MO_WIDE_STRIP;
      if (rows - row >= MO_WIDE_STRIP)
        memcpy(to, a + row, MO_WIDE_STRIP * sizeof *to);
      else
        memcpy(to, a + row, (rows - row) * sizeof *to);
    }
  }
}

/* One or two panels of B times the strips of a block of rows. `packed` is NULL where A is read where
 * it lies. */
static void multiply_panels(const product *p, const float *packed, const float *panel,
                            gemm_block block, size_t col, bool pair)
{
  const size_t width = less(p->cols - col, PANEL), depth = block.depth, some = block.some;
  const size_t next = some * PANEL, furthest = pair ? col + PANEL : col;
  for (size_t row = block.row; row < block.row + block.rows; row += p->strip) {
    const size_t count = less(block.row + block.rows - row, p->strip);
    const depth_span k = wanted(p, row, count, col, depth, some);
    const bool both = pair && wanted(p, row, count, furthest, depth, some).end == k.end;
    mo_left_side a = p->a;
    mo_gemm_target to = p->to;
    if (k.end == 0 && p->transpose_b == MO_TRANSPOSED && some > 0) continue;
    if (packed == NULL)
      a.data += row * a.row_step + (depth + k.first) * a.inner_step;
    else
      a = (mo_left_side){packed + (row - block.row) * (some + MARGIN) + k.first * MO_WIDE_STRIP,
                         1, MO_WIDE_STRIP};
    to.c += row * to.stride + col;
    if (depth > 0) to.beta = 1.0f;
    if (both)
      mo_strip_pair(count, &a, panel + k.first * PANEL, next, k.end - k.first, &to);
    else if (width == PANEL)
      multiply(p->wide, count, &a, panel + k.first * PANEL, k.end - k.first, &to);
    else
      multiply_edge(p->wide, count, width, &a, panel + k.first * PANEL, k.end - k.first, &to);
  }
}

MO_CLONES(static void pack_right(float *panel, const product *p, size_t depth, size_t some,
                                 size_t col))
{
  const size_t width = less(p->cols - col, PANEL);
  if (p->transpose_b == MO_PLAIN)
    pack_plain(panel, p->b + depth * p->b_stride + col, p->b_stride, some, width);
  else
    pack_transposed(panel, p->b + col * p->b_stride + depth, p->b_stride, some, width);
}

/* A block of rows times the panels of B, which are copied again for every block. */
static void multiply_block(const product *p, const float *packed, gemm_block block)
{
  float panels[2 * DEPTH * PANEL];
  for (size_t col = block.col; col < block.col_end;) {
    const bool pair = p->pairs && col + 2 * PANEL <= block.col_end;
    pack_right(panels, p, block.depth, block.some, col);
    if (pair) pack_right(panels + block.some * PANEL, p, block.depth, block.some, col + PANEL);
    multiply_panels(p, packed, panels, block, col, pair);
    col += pair ? 2 * PANEL : PANEL;
  }
}

static void multiply_copied(const product *p, gemm_block block)
{
  float left[BLOCK_ROWS * (COPIED_DEPTH + MARGIN)];
  pack_left(left, p->a.data + block.depth * p->a.inner_step + block.row, p->a.inner_step,
            block.some, block.rows);
  multiply_block(p, left, block);
}

/* Does the processor begin two products of 512 bits in a cycle? AMD's up to Zen 4 begin one, and their
 * first-level cache has no room for two panels; those since Zen 5 are told by an instruction that
 * they alone have. */
static bool begins_two(void)
{
#if defined(__x86_64__)
  return __builtin_cpu_is("intel") ||
         (__builtin_cpu_is("amd") && __builtin_cpu_supports("avx512vp2intersect"));
#else
  return false;
#endif
}

void mo_block_gemm(mo_transpose transpose_a, mo_transpose transpose_b, size_t rows, size_t cols,
                   size_t inner, size_t diagonal, float alpha, const float *a, size_t a_stride,
                   const float *b, size_t b_stride, float beta, float *c, size_t c_stride)
{
  enum { FEW_COLS = 64 };
  const bool plain = transpose_a == MO_PLAIN, wide = mo_has_wide_strip();
  const product p = {.transpose_a = transpose_a,
                     .transpose_b = transpose_b,
                     .rows = rows,
                     .cols = cols,
                     .diagonal = diagonal,
                     .strip = wide ? MO_WIDE_STRIP : MO_STRIP,
                     .a = {a, plain ? a_stride : 1, plain ? 1 : a_stride},
                     .b = b,
                     .b_stride = b_stride,
                     .to = {c, c_stride, alpha, beta},
                     .wide = wide,
                     .pairs = wide && begins_two()};
  /* Copying pays when many columns use it. */
  const bool copies = !plain && p.wide && cols > FEW_COLS;
  for (size_t row = 0; row < rows; row += BLOCK_ROWS)
    for (size_t col = 0; col < cols; col += BLOCK_COLS) {
      gemm_block block = {
          row, less(rows - row, BLOCK_ROWS), col, less(cols, col + BLOCK_COLS), 0, 0};
      do { /* once even without an inner dimension: C is still scaled */
        block.some = less(inner - block.depth, copies ? COPIED_DEPTH : DEPTH);
        if (copies)
          multiply_copied(&p, block);
        else
          multiply_block(&p, NULL, block);
        block.depth += block.some;
      } while (block.depth < inner);
    }
}

/* A build without multi-versioned functions has no fast strips; clang's of eight floats are slow. */
typedef enum strip_speed { SLOW_STRIPS, FAST_FOR_SMALL, FAST_FOR_ROWS } strip_speed;

#if defined(__x86_64__) && !defined(MO_NO_CLONES)
static strip_speed speed_of_strips(void)
{
  /* AMD's processors with AVX-512: OpenBLAS 0.3.21 runs what it wrote for Intel's. On those it is
   * behind in small products alone. */
  if (__builtin_cpu_supports("avx512f"))
    return __builtin_cpu_is("amd") || mo_blas_better_core() != NULL ? FAST_FOR_ROWS
                                                                    : FAST_FOR_SMALL;
#if !defined(__clang__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return FAST_FOR_SMALL;
#endif
  return SLOW_STRIPS;
}
#else
static strip_speed speed_of_strips(void)
{
  return SLOW_STRIPS;
}
#endif

/* As measured. With AVX-512 and a BLAS behind: what is one block high, as tiles of a grid (gemm_grid.h) and rows of
 * layers are; the BLAS is as fast for larger ones. Otherwise: B fits the second-level cache; a
 * transposed A, whose rows lie apart, is worth it for small heads. */
static bool pays(mo_transpose transpose_a, size_t rows, size_t cols, size_t inner)
{
  enum { LARGEST = 1 << 17, LARGEST_HEAD = 64 };
  const strip_speed speed = speed_of_strips();
  if (speed == FAST_FOR_ROWS) return rows <= BLOCK_ROWS;
  if (transpose_a == MO_TRANSPOSED && (cols > LARGEST_HEAD || inner > LARGEST_HEAD))
    return false;
  return inner * cols <= LARGEST && speed == FAST_FOR_SMALL;
}

void mo_tile_gemm(mo_transpose transpose_a, mo_transpose transpose_b, size_t rows, size_t cols,
                  size_t inner, size_t diagonal, float alpha, const float *a, size_t a_stride,
                  const float *b, size_t b_stride, float beta, float *c, size_t c_stride)
{
  if (pays(transpose_a, rows, cols, inner))
    mo_block_gemm(transpose_a, transpose_b, rows, cols, inner, diagonal, alpha, a, a_stride, b,
                  b_stride, beta, c, c_stride);
  else
    mo_gemm(transpose_a, transpose_b, rows, cols, inner, alpha, a, a_stride, b, b_stride, beta,
            c, c_stride);
}
