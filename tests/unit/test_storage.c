/* test_storage.c - numbers of 16 bits, matrices that lie in memory in other ways, sets of address
 * ranges, and the table of names: each against the plainest way to do the same. */
#include "base/random.h"
#include "base/ranges.h"
#include "check.h"
#include "optim/names.h"
#include "optim/saturate.h"
#include "optim/storage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef float (*from_fn)(uint16_t);
typedef uint16_t (*to_fn)(float);

static float from_bfloat16(uint16_t h)
{
  return mo_from_bfloat16(h);
}

static float from_float16(uint16_t h)
{
  return mo_from_float16(h);
}

static uint16_t to_bfloat16(float x)
{
  return mo_saturate_bfloat16(x);
}

static uint16_t to_float16(float x)
{
  return mo_saturate_float16(x);
}

/* By the definition of the format. */
static double value_of(uint16_t h, int fraction_bits, int bias)
{
  const int fraction = h & ((1 << fraction_bits) - 1), exponent = (h & 0x7fff) >> fraction_bits;
  const double sign = h & 0x8000 ? -1 : 1, step = ldexp(1, -fraction_bits);
  if (exponent == 0) return sign * ldexp(fraction * step, 1 - bias);
  return sign * ldexp(1 + fraction * step, exponent - bias);
}

/* Positive finite numbers of 16 bits are ordered as their bits are, so the nearest one to x is h
 * or a neighbour of it, and with a tie the even one. */
static void assert_nearest(float x, uint16_t h, from_fn from, uint16_t largest)
{
  const double got = fabs((double)x - (double)from(h));
  const uint16_t size = h & 0x7fff, sign = h & 0x8000;
  assert_true(size <= largest);
  for (int side = -1; side <= 1; side += 2) {
    if ((side < 0 && size == 0) || (side > 0 && size == largest)) continue;
    const double other = fabs((double)x - (double)from((uint16_t)(sign | (size + side))));
    if (got > other || (got == other && size % 2 == 1 && size < largest))
      fail_msg("%a became %04x (%a)", (double)x, h, (double)from(h));
  }
}

static void check_format(from_fn from, to_fn to, int fraction_bits, int bias, uint16_t largest)
{
  for (uint32_t h = 0; h < 0x10000; h++) {
    if ((h & 0x7fff) > largest) continue;
    const float x = from((uint16_t)h);
    assert_true((double)x == value_of((uint16_t)h, fraction_bits, bias));
    assert_int_equal(to(x), h);
  }
  for (uint64_t i = 0; i < 200000; i++) { /* any bits that are a finite float */
    const uint32_t bits = (uint32_t)(mo_random_bits(5, i, 0) >> 13);
    const float x = mo_float_from_bits(bits);
    if (isfinite(x)) assert_nearest(x, to(x), from, largest);
  }
  for (uint64_t i = 0; i < 200000; i++) { /* the range in which float16 is interesting */
    const float x = (float)(mo_random_normal(6, 0, i) * exp(6 * mo_random_normal(6, 1, i)));
    assert_nearest(x, to(x), from, largest);
  }
  assert_int_equal(to(INFINITY), largest + 1);
  assert_int_equal(to(-INFINITY), 0x8000 | (largest + 1));
  assert_true(isnan(from(to(NAN))));
  assert_int_equal(to(3e38f), largest < 0x7c00 ? largest : to(3e38f));
}

static void test_numbers_of_16_bits(void **state)
{
  (void)state;
  check_format(from_bfloat16, to_bfloat16, 7, 127, 0x7f7f);
  check_format(from_float16, to_float16, 10, 15, 0x7bff);
}

enum { ROWS = 37, COLS = 21, GAP = 5 };

/* Reads and writes stretches of a matrix that lies by rows or by columns, with gaps. */
static void check_layout(mousse_type type, size_t row_step, size_t col_step)
{
  enum { MOST = (ROWS + GAP) * (COLS + GAP) };
  const mo_shape shape = {ROWS, COLS};
  union {
    float f[MOST];
    uint16_t h[MOST];
  } memory, before;
  mo_storage s = {.value = &memory,
                  .grad = &memory,
                  .value_type = type,
                  .grad_type = type,
                  .row_step = row_step,
                  .col_step = col_step};
  float matrix[ROWS * COLS], read[ROWS * COLS];
  memset(&memory, 0x5a, sizeof memory);
  before = memory;
  for (size_t i = 0; i < ROWS * COLS; i++) matrix[i] = (float)i - 300; /* exact in float16 */
  if (type == MOUSSE_BFLOAT16)
    for (size_t i = 0; i < ROWS * COLS; i++) matrix[i] = (float)(i % 200);
  mo_write_value(&s, shape, 0, ROWS * COLS, matrix);
  for (size_t r = 0; r < ROWS; r++)
    for (size_t c = 0; c < COLS; c++) {
      mo_read_value(&s, shape, r * COLS + c, 1, read);
      assert_true(read[0] == matrix[r * COLS + c]);
      const size_t at = r * row_step + c * col_step;
      if (type == MOUSSE_FLOAT32) assert_true(memory.f[at] == matrix[r * COLS + c]);
      if (type == MOUSSE_FLOAT32) before.f[at] = memory.f[at];
      if (type != MOUSSE_FLOAT32) before.h[at] = memory.h[at];
    }
  assert_memory_equal(&memory, &before, sizeof memory); /* nothing between was touched */
  for (size_t first = 0; first < ROWS * COLS; first += 29) {
    const size_t count = ROWS * COLS - first < 100 ? ROWS * COLS - first : 100;
    mo_read_grad(&s, shape, first, count, read);
    assert_memory_equal(read, matrix + first, count * sizeof *read);
    mo_write_value(&s, shape, first, count, read);
  }
  mo_read_value(&s, shape, 0, ROWS * COLS, read);
  assert_memory_equal(read, matrix, sizeof matrix);
  assert_memory_equal(&memory, &before, sizeof memory);
}

static void test_layouts(void **state)
{
  (void)state;
  static const mousse_type types[] = {MOUSSE_FLOAT32, MOUSSE_BFLOAT16, MOUSSE_FLOAT16};
  for (size_t i = 0; i < 3; i++) {
    check_layout(types[i], COLS, 1);
    check_layout(types[i], COLS + GAP, 1);
    check_layout(types[i], 1, ROWS);
    check_layout(types[i], 1, ROWS + GAP);
  }
}

static void test_a_master_takes_over_what_others_wrote(void **state)
{
  (void)state;
  uint16_t value[3] = {mo_saturate_bfloat16(1.5f), mo_saturate_bfloat16(-2),
                       mo_saturate_bfloat16(0.25f)};
  float master[3] = {1.501f, -2.001f, 0.5f}; /* the last one is stale */
  const mo_storage s = {
      .value = value, .value_type = MOUSSE_BFLOAT16, .row_step = 3, .col_step = 1};
  mo_take_over(&s, (mo_shape){1, 3}, 0, 3, master);
  assert_true(master[0] == 1.501f && master[1] == -2.001f && master[2] == 0.25f);
}

static void test_ranges_against_a_list(void **state)
{
  (void)state;
  enum { COUNT = 300 };
  mo_ranges set = {0};
  uintptr_t starts[COUNT] = {0}, ends[COUNT] = {0};
  assert_true(mo_ranges_reserve(&set, NULL, COUNT));
  for (uint64_t turn = 0; turn < 30000; turn++) {
    const size_t number = mo_random_bits(7, turn, 0) % COUNT;
    const uintptr_t start = mo_random_bits(7, turn, 1) % 5000;
    const uintptr_t end = start + mo_random_bits(7, turn, 2) % 40;
    bool expected = false;
    for (size_t i = 0; i < COUNT; i++)
      expected = expected || (starts[i] < end && start < ends[i] && start < end);
    const size_t found = mo_ranges_find(&set, start, end);
    assert_true((found != MO_NO_RANGE) == expected);
    if (expected) assert_true(starts[found] < end && start < ends[found]);
    mo_ranges_remove(&set, number);
    starts[number] = ends[number] = 0;
    if (turn % 3 == 0) continue;
    mo_ranges_add(&set, number, start, end);
    if (start < end) starts[number] = start;
    if (start < end) ends[number] = end;
  }
  mo_ranges_release(&set, NULL);
}

static void test_many_names(void **state)
{
  (void)state;
  enum { COUNT = 3000 };
  static char texts[COUNT][16];
  mo_names names = {0};
  assert_null(mo_names_find(&names, "x"));
  for (size_t i = 0; i < COUNT; i++) {
    snprintf(texts[i], sizeof texts[i], "layer.%zu.w", i);
    assert_null(mo_names_find(&names, texts[i]));
    assert_true(mo_names_reserve(&names, NULL, 1));
    mo_names_add(&names, texts[i], i);
  }
  for (size_t i = 0; i < COUNT; i++)
    assert_int_equal(mo_names_find(&names, texts[i])->number, i);
  assert_null(mo_names_find(&names, "layer.3000.w"));
  assert_null(mo_names_find(&names, NULL));
  mo_names_release(&names, NULL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_numbers_of_16_bits),
      cmocka_unit_test(test_layouts),
      cmocka_unit_test(test_a_master_takes_over_what_others_wrote),
      cmocka_unit_test(test_ranges_against_a_list),
      cmocka_unit_test(test_many_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
