/* gemm_strip.c - see gemm_strip.h. */
#include "linalg/gemm_strip.h"

#include "base/simd.h"
#include "linalg/lanes.h"

/* With the number of rows as a constant, all sums are in registers. */
#define CASE(multiply, rows, ...)                                                              \
  case rows:                                                                                   \
    multiply(rows, __VA_ARGS__);                                                               \
    break;
#define CASES_TO_6(multiply, ...)                                                              \
  CASE(multiply, 1, __VA_ARGS__)                                                               \
  CASE(multiply, 2, __VA_ARGS__)                                                               \
  CASE(multiply, 3, __VA_ARGS__)                                                               \
  CASE(multiply, 4, __VA_ARGS__)                                                               \
  CASE(multiply, 5, __VA_ARGS__)                                                               \
  CASE(multiply, 6, __VA_ARGS__)

MO_INLINE void multiply_lanes(size_t rows, const mo_left_side *a, const float *panel,
                              size_t inner, const mo_gemm_target *to)
{
  const size_t row_step = a->row_step, inner_step = a->inner_step;
  const float *left = a->data;
  mo_lanes sum[MO_STRIP][2];
#pragma GCC unroll 6
  for (size_t i = 0; i < rows; i++) sum[i][0] = sum[i][1] = (mo_lanes){0};
  for (size_t k = 0; k < inner; k++, left += inner_step, panel += MO_PANEL) {
    mo_lanes b[2];
    mo_lanes_load(&b[0], panel);
    mo_lanes_load(&b[1], panel + MO_LANES);
#pragma GCC unroll 6
    for (size_t i = 0; i < rows; i++) {
      sum[i][0] += left[i * row_step] * b[0];
      sum[i][1] += left[i * row_step] * b[1];
    }
  }
#pragma GCC unroll 6
  for (size_t i = 0; i < rows; i++)
    for (size_t v = 0; v < 2; v++) {
      float *c = to->c + i * to->stride + v * MO_LANES;
      mo_lanes value = to->alpha * sum[i][v], old;
      if (to->beta != 0.0f) {
        mo_lanes_load(&old, c);
        value += to->beta * old;
      }
      mo_lanes_store(c, &value);
    }
}

MO_CLONES(void mo_strip_lanes(size_t rows, const mo_left_side *a, const float *panel,
                              size_t inner, const mo_gemm_target *to))
{
  switch (rows) {
    CASES_TO_6(multiply_lanes, a, panel, inner, to)
  default:
    break;
  }
}

#if defined(__x86_64__) && !defined(MO_NO_CLONES)

#define WIDE __attribute__((target("avx512f,fma")))
typedef float wide __attribute__((vector_size(64)));

WIDE MO_INLINE void multiply_wide(size_t rows, const mo_left_side *a, const float *panel,
                                  size_t inner, const mo_gemm_target *to)
{
  const size_t row_step = a->row_step, inner_step = a->inner_step;
  const float *left = a->data;
  wide sum[MO_WIDE_STRIP];
#pragma GCC unroll 8
  for (size_t i = 0; i < rows; i++) {
    sum[i] = (wide){0};
    __builtin_prefetch(to->c + i * to->stride, 1); /* comes while the sums are made */
  }
  for (size_t k = 0; k < inner; k++, left += inner_step, panel += MO_PANEL) {
    wide b;
    memcpy(&b, panel, sizeof b);
#pragma GCC unroll 8
    for (size_t i = 0; i < rows; i++) sum[i] += left[i * row_step] * b;
  }
#pragma GCC unroll 8
  for (size_t i = 0; i < rows; i++) {
    float *c = to->c + i * to->stride;
    wide value = to->alpha * sum[i], old;
    if (to->beta != 0.0f) {
      memcpy(&old, c, sizeof old);
      value += to->beta * old;
    }
    memcpy(c, &value, sizeof value);
  }
}

WIDE void mo_strip_wide(size_t rows, const mo_left_side *a, const float *panel, size_t inner,
                        const mo_gemm_target *to)
{
  switch (rows) {
    CASES_TO_6(multiply_wide, a, panel, inner, to)
    CASE(multiply_wide, 7, a, panel, inner, to)
    CASE(multiply_wide, 8, a, panel, inner, to)
  default:
    break;
  }
}

/* Twice the columns: half the loads of A for each operation, and twice the sums, without which a
 * processor that begins two products in a cycle waits for them. */
WIDE MO_INLINE void multiply_pair(size_t rows, const mo_left_side *a, const float *panel,
                                  size_t next, size_t inner, const mo_gemm_target *to)
{
  const size_t row_step = a->row_step, inner_step = a->inner_step;
  const float *left = a->data;
  wide sum[MO_WIDE_STRIP][2];
#pragma GCC unroll 8
  for (size_t i = 0; i < rows; i++) {
    sum[i][0] = sum[i][1] = (wide){0};
    __builtin_prefetch(to->c + i * to->stride, 1);
    __builtin_prefetch(to->c + i * to->stride + MO_PANEL, 1);
  }
  for (size_t k = 0; k < inner; k++, left += inner_step, panel += MO_PANEL) {
    wide b[2];
    memcpy(&b[0], panel, sizeof b[0]);
    memcpy(&b[1], panel + next, sizeof b[1]);
#pragma GCC unroll 8
    for (size_t i = 0; i < rows; i++) {
      const wide x = left[i * row_step] - (wide){0};
      sum[i][0] += x * b[0];
      sum[i][1] += x * b[1];
    }
  }
#pragma GCC unroll 8
  for (size_t i = 0; i < rows; i++)
    for (size_t v = 0; v < 2; v++) {
      float *c = to->c + i * to->stride + v * MO_PANEL;
      wide value = to->alpha * sum[i][v], old;
      if (to->beta != 0.0f) {
        memcpy(&old, c, sizeof old);
        value += to->beta * old;
      }
      memcpy(c, &value, sizeof value);
    }
}

WIDE void mo_strip_pair(size_t rows, const mo_left_side *a, const float *panel, size_t next,
                        size_t inner, const mo_gemm_target *to)
{
  switch (rows) {
    CASES_TO_6(multiply_pair, a, panel, next, inner, to)
    CASE(multiply_pair, 7, a, panel, next, inner, to)
    CASE(multiply_pair, 8, a, panel, next, inner, to)
  default:
    break;
  }
}

bool mo_has_wide_strip(void)
{
  return __builtin_cpu_supports("avx512f");
}

#else

void mo_strip_wide(size_t rows, const mo_left_side *a, const float *panel, size_t inner,
                   const mo_gemm_target *to)
{
  mo_strip_lanes(rows, a, panel, inner, to);
}

void mo_strip_pair(size_t rows, const mo_left_side *a, const float *panel, size_t next,
                   size_t inner, const mo_gemm_target *to)
{
  const mo_gemm_target second = {to->c + MO_PANEL, to->stride, to->alpha, to->beta};
  mo_strip_lanes(rows, a, panel, inner, to);
  mo_strip_lanes(rows, a, panel + next, inner, &second);
}

bool mo_has_wide_strip(void)
{
  return false;
}

#endif
