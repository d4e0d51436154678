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

#define CASES_TO_8(multiply, ...)                                                              \
  CASES_TO_6(multiply, __VA_ARGS__)                                                            \
  CASE(multiply, 7, __VA_ARGS__)                                                               \
  CASE(multiply, 8, __VA_ARGS__)

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

/* With two panels half the loads of A for each operation, and twice the sums, without which a
 * processor that begins two products in a cycle waits for them. */
WIDE MO_INLINE void multiply_wide(size_t rows, size_t panels, const mo_left_side *a,
                                  const float *panel, size_t next, size_t inner,
                                  const mo_gemm_target *to)
{
  const size_t row_step = a->row_step, inner_step = a->inner_step;
  const float *left = a->data;
  wide sum[MO_WIDE_STRIP][2];
#pragma GCC unroll 8
  for (size_t i = 0; i < rows; i++)
    for (size_t v = 0; v < panels; v++) {
      sum[i][v] = (wide){0};
      __builtin_prefetch(to->c + i * to->stride + v * MO_PANEL, 1); /* comes meanwhile */
    }
  for (size_t k = 0; k < inner; k++, left += inner_step, panel += MO_PANEL) {
    wide b[2];
    for (size_t v = 0; v < panels; v++) memcpy(&b[v], panel + v * next, sizeof b[v]);
#pragma GCC unroll 8
    for (size_t i = 0; i < rows; i++)
      for (size_t v = 0; v < panels; v++) sum[i][v] += left[i * row_step] * b[v];
  }
#pragma GCC unroll 8
  for (size_t i = 0; i < rows; i++)
    for (size_t v = 0; v < panels; v++) {
      float *c = to->c + i * to->stride + v * MO_PANEL;
      wide value = to->alpha * sum[i][v], old;
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
    CASES_TO_8(multiply_wide, 1, a, panel, 0, inner, to)
  default:
    break;
  }
}

WIDE void mo_strip_pair(size_t rows, const mo_left_side *a, const float *panel, size_t next,
                        size_t inner, const mo_gemm_target *to)
{
  switch (rows) {
    CASES_TO_8(multiply_wide, 2, a, panel, next, inner, to)
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
