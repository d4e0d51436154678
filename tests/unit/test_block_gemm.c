/* test_block_gemm.c - products by our own kernel: every shape of block and edge, against sums in
 * double, no further from them than the BLAS, and nothing written beside C. */
#include "base/random.h"
#include "check.h"
#include "linalg/block_gemm.h"
#include "linalg/gemm_strip.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MARGIN = 3 }; /* of rows in memory, beyond what belongs to a matrix */

typedef struct sample {
  mo_transpose ta, tb;
  size_t rows, cols, inner;
  float alpha, beta;
} sample;

static float *random_matrix(size_t rows, size_t cols, uint64_t seed)
{
  const size_t count = (rows + 1) * (cols + MARGIN);
  float *values = malloc(count * sizeof *values);
  assert_non_null(values);
  mo_random_fill(values, count, 1.0, seed, 0);
  return values;
}

static double element(const float *a, size_t stride, mo_transpose transpose, size_t i, size_t j)
{
  return (double)(transpose == MO_PLAIN ? a[i * stride + j] : a[j * stride + i]);
}

/* The root of the mean squared error; C beside the product must be as before. */
static double error_of(const sample *s, const float *a, const float *b, const float *before,
                       const float *c)
{
  const size_t as = (s->ta == MO_PLAIN ? s->inner : s->rows) + MARGIN;
  const size_t bs = (s->tb == MO_PLAIN ? s->cols : s->inner) + MARGIN, cs = s->cols + MARGIN;
  double squares = 0;
  for (size_t i = 0; i < s->rows; i++) {
    for (size_t j = 0; j < s->cols; j++) {
      double sum = 0;
      for (size_t k = 0; k < s->inner; k++)
        sum += element(a, as, s->ta, i, k) * element(b, bs, s->tb, k, j);
      const double old = s->beta != 0.0f ? (double)s->beta * (double)before[i * cs + j] : 0;
      const double error = (double)s->alpha * sum + old - (double)c[i * cs + j];
      squares += error * error;
    }
    assert_memory_equal(c + i * cs + s->cols, before + i * cs + s->cols, MARGIN * sizeof *c);
  }
  assert_memory_equal(c + s->rows * cs, before + s->rows * cs, cs * sizeof *c);
  return sqrt(squares / (double)(s->rows * s->cols));
}

static void check_sample(const sample *s)
{
  float *a = s->ta == MO_PLAIN ? random_matrix(s->rows, s->inner, 1)
                               : random_matrix(s->inner, s->rows, 1);
  float *b = s->tb == MO_PLAIN ? random_matrix(s->inner, s->cols, 2)
                               : random_matrix(s->cols, s->inner, 2);
  float *before = random_matrix(s->rows, s->cols, 3), *c = random_matrix(s->rows, s->cols, 3);
  float *by_blas = random_matrix(s->rows, s->cols, 3);
  const size_t as = (s->ta == MO_PLAIN ? s->inner : s->rows) + MARGIN;
  const size_t bs = (s->tb == MO_PLAIN ? s->cols : s->inner) + MARGIN, cs = s->cols + MARGIN;
  if (s->beta == 0.0f) /* C is written, not read */
    for (size_t i = 0; i < s->rows; i++)
      for (size_t j = 0; j < s->cols; j++) before[i * cs + j] = c[i * cs + j] = NAN;
  mo_block_gemm(s->ta, s->tb, s->rows, s->cols, s->inner, MO_NO_DIAGONAL, s->alpha, a, as, b,
                bs, s->beta, c, cs);
  mo_gemm(s->ta, s->tb, s->rows, s->cols, s->inner, s->alpha, a, as, b, bs, s->beta, by_blas,
          cs);
  const double error = error_of(s, a, b, before, c),
               theirs = error_of(s, a, b, before, by_blas);
  /* A float that takes in n products one after the other is off by 2.4e-8 n in the mean; a BLAS
   * may keep several sums and do better. Four times that for products of a few elements. */
  const double rounding = s->rows * s->cols < 16 ? 1e-7 : 3e-8;
  if (!(error <= 1.5 * theirs + rounding * ((double)s->inner + 1) + 1e-7))
    fail_msg("%d %d, %zu x %zu x %zu: error %g, the BLAS %g", s->ta, s->tb, s->rows, s->cols,
             s->inner, error, theirs);
  free(a);
  free(b);
  free(before);
  free(c);
  free(by_blas);
}

static void check_ways(size_t rows, size_t cols, size_t inner, bool adds)
{
  for (int way = 0; way < 4; way++)
    check_sample(&(sample){way & 1 ? MO_TRANSPOSED : MO_PLAIN,
                           way & 2 ? MO_TRANSPOSED : MO_PLAIN, rows, cols, inner,
                           adds ? 0.5f : 1.0f, adds ? 2.0f : 0.0f});
}

/* Around the borders of strips (6 or 8), panels (16) and depth (256). */
static void shapes_are_right(void **state)
{
  static const size_t rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 64};
  static const size_t cols[] = {1, 7, 8, 15, 16, 17, 32, 33, 47, 48, 64};
  static const size_t inner[] = {0, 1, 7, 8, 9, 32, 255, 256, 257};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (size_t j = 0; j < sizeof cols / sizeof *cols; j++)
      for (size_t k = 0; k < sizeof inner / sizeof *inner; k++)
        check_ways(rows[i], cols[j], inner[k], (i + j + k) % 2 > 0);
}

/* Around the borders of blocks: 384 x 768, and a transposed A that is copied, 128 deep, when there
 * are more than 64 columns. */
static void blocks_are_right(void **state)
{
  (void)state;
  check_ways(383, 65, 127, false);
  check_ways(384, 80, 128, true);
  check_ways(385, 81, 129, false);
  check_ways(400, 64, 40, true);
  check_ways(9, 767, 130, false);
  check_ways(17, 768, 257, true);
  check_ways(390, 785, 20, true);
  check_ways(12, 70, 0, true);
}

static void check_strip(size_t rows, float beta, bool wide)
{
  enum { INNER = 37, C_STRIDE = MO_PANEL + MARGIN };
  float *a = random_matrix(MO_WIDE_STRIP, INNER, 1), *panel = random_matrix(INNER, MO_PANEL, 2);
  float *before = random_matrix(MO_WIDE_STRIP, MO_PANEL, 3);
  float *c = random_matrix(MO_WIDE_STRIP, MO_PANEL, 3);
  const mo_left_side left = {a, INNER, 1};
  const mo_gemm_target to = {c, C_STRIDE, 0.5f, beta};
  if (wide)
    mo_strip_wide(rows, &left, panel, INNER, &to);
  else
    mo_strip_lanes(rows, &left, panel, INNER, &to);
  for (size_t i = 0; i < MO_WIDE_STRIP; i++)
    for (size_t j = 0; j < C_STRIDE; j++) {
      const double old = (double)before[i * C_STRIDE + j];
      double expected = (double)beta * old;
      for (size_t k = 0; k < INNER && j < MO_PANEL; k++)
        expected += 0.5 * (double)a[i * INNER + k] * (double)panel[k * MO_PANEL + j];
      if (i >= rows || j >= MO_PANEL) expected = old;
      assert_float_equal((float)expected, c[i * C_STRIDE + j], 1e-5);
    }
  free(a);
  free(panel);
  free(before);
  free(c);
}

/* Both kinds, whichever this processor would choose. */
static void strips_are_right(void **state)
{
  (void)state;
  for (size_t rows = 1; rows <= MO_WIDE_STRIP; rows++)
    for (int beta = 0; beta < 2; beta++) {
      if (rows <= MO_STRIP) check_strip(rows, (float)beta, false);
      if (mo_has_wide_strip()) check_strip(rows, (float)beta, true);
    }
}

/* A row's numbers do not depend on which rows are computed with it. */
static void rows_are_independent(void **state)
{
  enum { ROWS = 23, COLS = 37, INNER = 300 };
  (void)state;
  float *a = random_matrix(ROWS, INNER, 1), *b = random_matrix(COLS, INNER, 2);
  float all[ROWS * COLS], some[ROWS * COLS];
  mo_block_gemm(MO_PLAIN, MO_TRANSPOSED, ROWS, COLS, INNER, MO_NO_DIAGONAL, 1.0f, a, INNER, b,
                INNER, 0.0f, all, COLS);
  for (size_t first = 0; first < ROWS; first += 5) {
    const size_t count = ROWS - first < 5 ? ROWS - first : 5;
    mo_block_gemm(MO_PLAIN, MO_TRANSPOSED, count, COLS, INNER, MO_NO_DIAGONAL, 1.0f,
                  a + first * INNER, INNER, b, INNER, 0.0f, some + first * COLS, COLS);
  }
  assert_memory_equal(all, some, sizeof all);
  free(a);
  free(b);
}

/* Queries x keys of causal attention: with what is beyond the diagonal 0, the three products are
 * those of the whole matrix; scores beyond it may be anything. */
static void check_causal(size_t queries, size_t diagonal, size_t width)
{
  const size_t keys = diagonal + queries, values = queries > keys ? queries : keys;
  float *q = random_matrix(queries, width, 1), *k = random_matrix(keys, width, 2);
  float *scores = random_matrix(queries, keys, 3), *whole = random_matrix(queries, keys, 3);
  float *y = random_matrix(values, width, 4), *expected = random_matrix(values, width, 4);
  mo_block_gemm(MO_PLAIN, MO_TRANSPOSED, queries, keys, width, diagonal, 1.0f, q, width, k,
                width, 0.0f, scores, keys);
  mo_block_gemm(MO_PLAIN, MO_TRANSPOSED, queries, keys, width, MO_NO_DIAGONAL, 1.0f, q, width,
                k, width, 0.0f, whole, keys);
  for (size_t i = 0; i < queries; i++)
    for (size_t j = 0; j < keys; j++) {
      if (j > diagonal + i) scores[i * keys + j] = whole[i * keys + j] = 0.0f;
      if (scores[i * keys + j] != whole[i * keys + j])
        fail_msg("%zu + %zu: score %zu %zu", diagonal, queries, i, j);
    }
  mo_block_gemm(MO_PLAIN, MO_PLAIN, queries, width, keys, diagonal, 1.0f, scores, keys, k,
                width, 0.0f, y, width);
  mo_block_gemm(MO_PLAIN, MO_PLAIN, queries, width, keys, MO_NO_DIAGONAL, 1.0f, scores, keys, k,
                width, 0.0f, expected, width);
  assert_memory_equal(y, expected, queries * width * sizeof *y);
  mo_block_gemm(MO_TRANSPOSED, MO_PLAIN, keys, width, queries, diagonal, 1.0f, scores, keys, q,
                width, 1.0f, y, width);
  mo_block_gemm(MO_TRANSPOSED, MO_PLAIN, keys, width, queries, MO_NO_DIAGONAL, 1.0f, scores,
                keys, q, width, 1.0f, expected, width);
  assert_memory_equal(y, expected, values * width * sizeof *y);
  free(q);
  free(k);
  free(scores);
  free(whole);
  free(y);
  free(expected);
}

static void what_is_beyond_the_diagonal_does_not_matter(void **state)
{
  static const size_t queries[] = {1, 5, 6, 7, 16, 64}, diagonals[] = {0, 1, 10, 64, 250, 300};
  (void)state;
  for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
    for (size_t j = 0; j < sizeof diagonals / sizeof *diagonals; j++) {
      check_causal(queries[i], diagonals[j], 32);
      check_causal(queries[i], diagonals[j], 9);
    }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shapes_are_right),
      cmocka_unit_test(blocks_are_right),
      cmocka_unit_test(strips_are_right),
      cmocka_unit_test(rows_are_independent),
      cmocka_unit_test(what_is_beyond_the_diagonal_does_not_matter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
