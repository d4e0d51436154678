/* cut.c - large operations of the BLAS as parts of fixed shape. */
#include "linalg/cut.h"

#include "base/team.h"
#include "linalg/gemm_grid.h"
#include "linalg/vector.h"

#include <string.h>

/* Operations that are worth dividing: about 15 ms of one core. */
#define WORTH 1.4e9
/* Of triangular operations, of which only refreshes are made, the longest work there is inside a
 * matrix: one waits for the other, so that smaller ones are divided, too, and more finely. */
#define WORTH_OF_PANELS 2e8

enum { BLOCK = 384, PANEL = 768, NARROW_PANEL = 192, BANDS = 16 };

static bool worth_it(double operations)
{
  return operations >= WORTH && mo_team_inside();
}

static size_t parts(size_t length, size_t part)
{
  return (length + part - 1) / part;
}

/* As gemm_grid.c: even parts, whole vector registers. */
static size_t even_part(size_t length, size_t wanted)
{
  const size_t even = parts(length, parts(length, wanted));
  return (even + 15) / 16 * 16;
}

static size_t length_of(size_t all, size_t start, size_t part)
{
  return all - start < part ? all - start : part;
}

bool mo_cut_gemm(mo_transpose transpose_a, mo_transpose transpose_b, size_t rows, size_t cols,
                 size_t inner, float alpha, const float *a, size_t a_stride, const float *b,
                 size_t b_stride, float beta, float *c, size_t c_stride)
{
  if (!worth_it(2.0 * (double)rows * (double)cols * (double)inner)) return false;
  mo_product product = {.transpose_a = transpose_a,
                        .transpose_b = transpose_b,
                        .rows = rows,
                        .cols = cols,
                        .inner = inner,
                        .alpha = alpha,
                        .beta = beta,
                        .a = a,
                        .b = b,
                        .c = c,
                        .a_stride = a_stride,
                        .b_stride = b_stride,
                        .c_stride = c_stride,
                        .by_blas = true}; /* as the whole product would be */
  const mo_task task = mo_product_plan(&product);
  mo_team_divide(task.count, task.body, task.context);
  return true;
}

/* A triangle of op(A) op(B) in blocks: those on the diagonal are syrk's, or a symmetric
 * product's, those beside it plain products. */
typedef struct triangle {
  mo_triangle kind;
  mo_transpose transpose_a, transpose_b;
  bool syrk;
  size_t n, inner, block;
  float alpha, beta;
  const float *a, *b;
  float *c;
  size_t a_stride, b_stride, c_stride;
} triangle;

/* Part 0 is the first block row, parts 1 and 2 are the second, ... */
static void block_of(size_t part, size_t *row, size_t *col)
{
  *row = 0;
  while (part > *row) part -= ++*row;
  *col = part;
}

static const float *rows_of(mo_transpose transpose, const float *a, size_t stride, size_t first)
{
  return a + (transpose == MO_PLAIN ? first * stride : first);
}

static const float *cols_of(mo_transpose transpose, const float *b, size_t stride, size_t first)
{
  return b + (transpose == MO_PLAIN ? first : first * stride);
}

static void triangle_block(void *context, size_t part, int thread)
{
  const triangle *t = context;
  size_t i = 0, j = 0;
  (void)thread;
  block_of(part, &i, &j);
  if (t->kind == MO_UPPER) {
    const size_t swapped = i;
    i = j;
    j = swapped;
  }
  const size_t row = i * t->block, col = j * t->block;
  const size_t rows = length_of(t->n, row, t->block), cols = length_of(t->n, col, t->block);
  const float *a = rows_of(t->transpose_a, t->a, t->a_stride, row);
  const float *b = cols_of(t->transpose_b, t->b, t->b_stride, col);
  float *c = t->c + row * t->c_stride + col;
  if (i == j && t->syrk)
    mo_syrk(t->kind, t->transpose_a, rows, t->inner, t->alpha, a, t->a_stride, t->beta, c,
            t->c_stride);
  else if (i == j)
    mo_lower_product(t->transpose_a, t->transpose_b, rows, t->inner, a, t->a_stride, b,
                     t->b_stride, c, t->c_stride);
  else
    mo_gemm(t->transpose_a, t->transpose_b, rows, cols, t->inner, t->alpha, a, t->a_stride, b,
            t->b_stride, t->beta, c, t->c_stride);
}

static bool cut_triangle(triangle *t)
{
  if (!worth_it((double)t->n * (double)t->n * (double)t->inner) || t->n <= BLOCK) return false;
  t->block = even_part(t->n, BLOCK);
  const size_t blocks = parts(t->n, t->block);
  mo_team_divide(blocks * (blocks + 1) / 2, triangle_block, t);
  return true;
}

bool mo_cut_syrk(mo_triangle kind, mo_transpose transpose_a, size_t n, size_t k, float alpha,
                 const float *a, size_t a_stride, float beta, float *c, size_t c_stride)
{
  triangle t = {.kind = kind,
                .transpose_a = transpose_a,
                .transpose_b = transpose_a == MO_PLAIN ? MO_TRANSPOSED : MO_PLAIN,
                .syrk = true,
                .n = n,
                .inner = k,
                .alpha = alpha,
                .beta = beta,
                .a = a,
                .b = a,
                .c = c,
                .a_stride = a_stride,
                .b_stride = a_stride,
                .c_stride = c_stride};
  return cut_triangle(&t);
}

bool mo_cut_lower_product(mo_transpose transpose_a, mo_transpose transpose_b, size_t n,
                          size_t inner, const float *a, size_t a_stride, const float *b,
                          size_t b_stride, float *c, size_t c_stride)
{
  triangle t = {.kind = MO_LOWER,
                .transpose_a = transpose_a,
                .transpose_b = transpose_b,
                .n = n,
                .inner = inner,
                .alpha = 1.0f,
                .a = a,
                .b = b,
                .c = c,
                .a_stride = a_stride,
                .b_stride = b_stride,
                .c_stride = c_stride};
  return cut_triangle(&t);
}

/* C = S X or X S in blocks of C. Along the side that S is on, a block needs a whole row of blocks
 * of S: what is stored on one side of the diagonal, the block on it, and the rest transposed. */
typedef struct symmetric {
  bool left;
  mo_triangle kind;
  size_t n, others; /* along the side of S, and along the other one */
  size_t block, other_block;
  const float *s, *x;
  float *c;
  size_t s_stride, x_stride, c_stride;
} symmetric;

/* C += S_part X_part, or X_part S_part, for the part of S between `from` and `to` of the block's
 * row; `stored` says whether it is there as it stands in S, or mirrored. */
static void add_beside(const symmetric *p, size_t first, size_t count, size_t from, size_t to,
                       bool stored, const float *x, size_t others, float *c)
{
  if (from == to) return;
  /* For S X the rows of S are the block's, for X S its columns are. */
  const bool plain = p->left == stored;
  const size_t row = plain ? first : from, col = plain ? from : first;
  const float *s = p->s + row * p->s_stride + col;
  if (p->left)
    mo_gemm(stored ? MO_PLAIN : MO_TRANSPOSED, MO_PLAIN, count, others, to - from, 1.0f, s,
            p->s_stride, x + from * p->x_stride, p->x_stride, 1.0f, c, p->c_stride);
  else
    mo_gemm(MO_PLAIN, stored ? MO_PLAIN : MO_TRANSPOSED, others, count, to - from, 1.0f,
            x + from, p->x_stride, s, p->s_stride, 1.0f, c, p->c_stride);
}

static void symmetric_block(void *context, size_t part, int thread)
{
  const symmetric *p = context;
  const size_t across = parts(p->others, p->other_block);
  const size_t first = part / across * p->block, other = part % across * p->other_block;
  const size_t count = length_of(p->n, first, p->block), end = first + count;
  const size_t others = length_of(p->others, other, p->other_block);
  const float *diagonal = p->s + first * (p->s_stride + 1);
  /* In the lower triangle, what stands in rows of S is stored to the left of the diagonal. */
  const bool before = p->left == (p->kind == MO_LOWER);
  (void)thread;
  if (p->left) {
    const float *x = p->x + other;
    float *c = p->c + first * p->c_stride + other;
    mo_symm_left(p->kind, count, others, diagonal, p->s_stride, x + first * p->x_stride,
                 p->x_stride, c, p->c_stride);
    add_beside(p, first, count, 0, first, before, x, others, c);
    add_beside(p, first, count, end, p->n, !before, x, others, c);
  } else {
    const float *x = p->x + other * p->x_stride;
    float *c = p->c + other * p->c_stride + first;
    mo_symm_right(p->kind, others, count, diagonal, p->s_stride, x + first, p->x_stride, c,
                  p->c_stride);
    add_beside(p, first, count, 0, first, before, x, others, c);
    add_beside(p, first, count, end, p->n, !before, x, others, c);
  }
}

bool mo_cut_symm(bool left, mo_triangle kind, size_t rows, size_t cols, const float *s,
                 size_t s_stride, const float *x, size_t x_stride, float *c, size_t c_stride)
{
  const size_t n = left ? rows : cols, others = left ? cols : rows;
  if (!worth_it(2.0 * (double)n * (double)n * (double)others)) return false;
  symmetric p = {.left = left,
                 .kind = kind,
                 .n = n,
                 .others = others,
                 .block = even_part(n, PANEL),
                 .other_block = even_part(others, n > PANEL ? BLOCK : PANEL),
                 .s = s,
                 .x = x,
                 .c = c,
                 .s_stride = s_stride,
                 .x_stride = x_stride,
                 .c_stride = c_stride};
  mo_team_divide(parts(n, p.block) * parts(others, p.other_block), symmetric_block, &p);
  return true;
}

/* Products with a triangular matrix, and solving with one, in panels of X. */
typedef struct panels {
  void (*of_rows)(size_t rows, size_t cols, const float *l, size_t l_stride, float *x,
                  size_t x_stride); /* NULL: by columns, alpha L X */
  size_t rows, cols, panel;
  float alpha;
  const float *l;
  float *x;
  size_t l_stride, x_stride;
} panels;

static void panel(void *context, size_t part, int thread)
{
  const panels *p = context;
  const size_t first = part * p->panel;
  (void)thread;
  if (p->of_rows != NULL)
    p->of_rows(length_of(p->rows, first, p->panel), p->cols, p->l, p->l_stride,
               p->x + first * p->x_stride, p->x_stride);
  else
    mo_lower_times(p->rows, length_of(p->cols, first, p->panel), p->alpha, p->l, p->l_stride,
                   p->x + first, p->x_stride);
}

/* `side` is the one of L, `others` the one that is cut. */
static bool cut_panels(panels *p, size_t side, size_t others)
{
  const double operations = (double)side * (double)side * (double)others;
  if (operations < WORTH_OF_PANELS || !mo_team_inside()) return false;
  p->panel = even_part(others, NARROW_PANEL);
  mo_team_divide(parts(others, p->panel), panel, p);
  return true;
}

bool mo_cut_lower_times(size_t rows, size_t cols, float alpha, const float *l, size_t l_stride,
                        float *x, size_t x_stride)
{
  panels p = {NULL, rows, cols, 0, alpha, l, x, l_stride, x_stride};
  return cut_panels(&p, rows, cols);
}

bool mo_cut_times_lower(size_t rows, size_t cols, const float *l, size_t l_stride, float *x,
                        size_t x_stride)
{
  panels p = {mo_times_lower, rows, cols, 0, 1.0f, l, x, l_stride, x_stride};
  return cut_panels(&p, cols, rows);
}

bool mo_cut_solve_lower(size_t rows, size_t cols, const float *l, size_t l_stride, float *x,
                        size_t x_stride)
{
  panels p = {mo_solve_lower, rows, cols, 0, 1.0f, l, x, l_stride, x_stride};
  return cut_panels(&p, cols, rows);
}

/* S x, of which each band of S's lower triangle has a part: its own rows, and what its columns
 * left of the diagonal block add to the rows above. */
typedef struct bands {
  size_t n, band;
  const float *s, *x;
  size_t s_stride;
  float *partial; /* a vector for each band */
} bands;

static void band(void *context, size_t part, int thread)
{
  const bands *b = context;
  const size_t first = part * b->band, count = length_of(b->n, first, b->band);
  const float *rows = b->s + first * b->s_stride;
  float *y = b->partial + part * b->n;
  (void)thread;
  mo_symv(count, rows + first, b->s_stride, b->x + first, y + first);
  mo_gemv(MO_PLAIN, count, first, rows, b->s_stride, b->x, 1.0f, y + first);
  mo_gemv(MO_TRANSPOSED, count, first, rows, b->s_stride, b->x + first, 0.0f, y);
}

size_t mo_symv_work_floats(size_t n)
{
  return BANDS * n;
}

void mo_symv_in_bands(size_t n, const float *s, size_t s_stride, const float *x, float *y,
                      float *work)
{
  enum { SMALLEST = 64 };
  const size_t even = even_part(n, parts(n, BANDS));
  bands b = {n, even > SMALLEST ? even : SMALLEST, s, x, s_stride, work};
  const size_t count = parts(n, b.band);
  mo_team_divide(count, band, &b);
  memcpy(y, work, length_of(n, 0, b.band) * sizeof *y);
  for (size_t part = 1; part < count; part++) {
    const size_t first = part * b.band;
    mo_accumulate(y, work + part * n, first);
    memcpy(y + first, work + part * n + first, length_of(n, first, b.band) * sizeof *y);
  }
}
