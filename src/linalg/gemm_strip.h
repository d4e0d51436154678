/* gemm_strip.h - the innermost part of a matrix product: a strip of a few rows and 16 columns of C,
 * whose sums stay in registers while the inner dimension is walked. */
#ifndef MOUSSE_LINALG_GEMM_STRIP_H
#define MOUSSE_LINALG_GEMM_STRIP_H

#include <stdbool.h>
#include <stddef.h>

enum { MO_PANEL = 16, MO_STRIP = 6, MO_WIDE_STRIP = 8 };

/* How A is read: element (i, k) is at data[i * row_step + k * inner_step]. */
typedef struct mo_left_side {
  const float *data;
  size_t row_step, inner_step;
} mo_left_side;

/* C = alpha * sum + beta * C; with beta = 0, C is only written. */
typedef struct mo_gemm_target {
  float *c;
  size_t stride;
  float alpha, beta;
} mo_gemm_target;

/* Up to MO_STRIP rows of C; the panel holds 16 columns of B, a row of 16 after the other. */
void mo_strip_lanes(size_t rows, const mo_left_side *a, const float *panel, size_t inner,
                    const mo_gemm_target *to);

/* The same for up to MO_WIDE_STRIP rows, with vectors of 512 bits: only where the processor has
 * them. */
void mo_strip_wide(size_t rows, const mo_left_side *a, const float *panel, size_t inner,
                   const mo_gemm_target *to);
/* And for two panels at once, 32 columns; the second one is `next` floats behind the first. */
void mo_strip_pair(size_t rows, const mo_left_side *a, const float *panel, size_t next,
                   size_t inner, const mo_gemm_target *to);
bool mo_has_wide_strip(void);

#endif
