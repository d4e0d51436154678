/* gemm_grid.c - one large matrix product as a fixed grid of output tiles.
 *
 * A BLAS call copies its operands into a packed form first: (tile_rows + tile_cols) * inner
 * elements for 2 * tile_rows * tile_cols * inner operations. Large tiles make that cheap, many
 * tiles keep all threads busy. Measured on Zen 3, 384 x 768 is 2 to 5% slower than one undivided
 * product, 256 x 512 4 to 10%. Smaller products are cut until there are at least MINIMUM_TILES of
 * them, and long ones until no tile has more than LONGEST operations, about 40 ms of a core: of many
 * threads most would wait for the last ones.
 */
#include "linalg/gemm_grid.h"

#include "linalg/block_gemm.h"

enum { MINIMUM_TILES = 4 };
#define LONGEST 3.7e9

/* Of so many tiles of so many operations, a sixteenth is cut finer at the end. */
enum { MANY_TILES = 32, END = 16, FINER = 4 };
#define LARGE_TILE 2e8

static size_t parts(size_t length, size_t part)
{
  return (length + part - 1) / part;
}

/* The length of a part when `length` is cut evenly into parts of at most `wanted`; a multiple
 * of 16 so that no part but the last leaves the BLAS kernel a ragged edge. */
static size_t even_part(size_t length, size_t wanted)
{
  const size_t even = parts(length, parts(length, wanted));
  return (even + 15) / 16 * 16;
}

static double tile_operations(const mo_product *p)
{
  return 2.0 * (double)p->tile_rows * (double)p->tile_cols * (double)p->inner;
}

static void choose_tiles(mo_product *p)
{
  static const size_t sizes[][2] = {{384, 768}, {384, 512}, {256, 512}, {192, 384}, {128, 256}};
  const double longest = p->longest > 0 ? p->longest : LONGEST;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    p->tile_rows = even_part(p->rows, sizes[i][0]);
    p->tile_cols = even_part(p->cols, sizes[i][1]);
    const size_t count = parts(p->rows, p->tile_rows) * parts(p->cols, p->tile_cols);
    if (count >= MINIMUM_TILES && tile_operations(p) <= longest) return;
  }
}

static void compute_tile(void *context, size_t item, int thread)
{
  (void)thread;
  const mo_product *p = context;
  const size_t across = parts(p->cols, p->tile_cols);
  const size_t row = item / across * p->tile_rows, col = item % across * p->tile_cols;
  const size_t rows = p->rows - row < p->tile_rows ? p->rows - row : p->tile_rows;
  const size_t cols = p->cols - col < p->tile_cols ? p->cols - col : p->tile_cols;
  const float *a = p->a + (p->transpose_a == MO_PLAIN ? row * p->a_stride : row);
  const float *b = p->b + (p->transpose_b == MO_PLAIN ? col : col * p->b_stride);
  float *c = p->c + row * p->c_stride + col;
  if (p->by_blas)
    mo_gemm(p->transpose_a, p->transpose_b, rows, cols, p->inner, p->alpha, a, p->a_stride, b,
            p->b_stride, p->beta, c, p->c_stride);
  else
    mo_tile_gemm(p->transpose_a, p->transpose_b, rows, cols, p->inner, MO_NO_DIAGONAL, p->alpha,
                 a, p->a_stride, b, p->b_stride, p->beta, c, p->c_stride);
}

mo_product mo_dense_product(mo_transpose transpose_a, mo_transpose transpose_b, size_t rows,
                            size_t cols, size_t inner, const float *a, const float *b,
                            float beta, float *c)
{
  return (mo_product){.transpose_a = transpose_a,
                      .transpose_b = transpose_b,
                      .rows = rows,
                      .cols = cols,
                      .inner = inner,
                      .alpha = 1.0f,
                      .beta = beta,
                      .a = a,
                      .b = b,
                      .c = c,
                      .a_stride = transpose_a == MO_PLAIN ? inner : rows,
                      .b_stride = transpose_b == MO_PLAIN ? cols : inner,
                      .c_stride = cols};
}

/* What is behind the first `count` rows, or columns, of the result; the product keeps these. */
static mo_product rows_behind(mo_product *p, size_t count)
{
  mo_product end = *p;
  p->rows = count;
  end.rows -= count;
  end.a += p->transpose_a == MO_PLAIN ? count * p->a_stride : count;
  end.c += count * p->c_stride;
  end.tile_rows = even_part(p->tile_rows, parts(p->tile_rows, FINER));
  return end;
}

static mo_product columns_behind(mo_product *p, size_t count)
{
  mo_product end = *p;
  p->cols = count;
  end.cols -= count;
  end.b += p->transpose_b == MO_PLAIN ? count : count * p->b_stride;
  end.c += count;
  end.tile_cols = even_part(p->tile_cols, parts(p->tile_cols, FINER));
  return end;
}

mo_product mo_product_cut_end(mo_product *p)
{
  if (p->rows == 0 || p->cols == 0) return (mo_product){0};
  if (p->tile_rows == 0 || p->tile_cols == 0) choose_tiles(p);
  const size_t down = parts(p->rows, p->tile_rows), across = parts(p->cols, p->tile_cols);
  if (down * across < MANY_TILES || tile_operations(p) < LARGE_TILE) return (mo_product){0};
  if (down > across) return rows_behind(p, (down - parts(down, END)) * p->tile_rows);
  return columns_behind(p, (across - parts(across, END)) * p->tile_cols);
}

mo_task mo_product_plan(mo_product *product)
{
  mo_task task = {0, compute_tile, product, "product"};
  if (product->rows == 0 || product->cols == 0) return task;
  if (product->tile_rows == 0 || product->tile_cols == 0) choose_tiles(product);
  task.count =
      parts(product->rows, product->tile_rows) * parts(product->cols, product->tile_cols);
  return task;
}
