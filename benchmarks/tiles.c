/* tiles.c - products as the layers of models have them, by the BLAS and by our own kernel
 * (src/linalg/block_gemm.h), on one thread, taking turns; medians of GFLOP/s.
 *
 *     build/release/benchmarks/tiles
 *
 * On processors for which the kernel is not chosen, the column shows what it would do there.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "bench/bench.h"
#include "linalg/block_gemm.h"

#include <stdio.h>

typedef struct tile {
  const char *what;
  mo_transpose transpose_a, transpose_b;
  size_t rows, cols, inner, a_stride, b_stride, c_stride;
} tile;

/* A tile of 256 rows through a layer and back, of the gradient of weights, of a head. */
static const tile tiles[] = {
    {"nano, scores of a head", MO_PLAIN, MO_TRANSPOSED, 64, 256, 32, 384, 384, 256},
    {"nano, values of a head", MO_PLAIN, MO_PLAIN, 64, 32, 256, 256, 384, 128},
    {"nano, d_v of a head", MO_TRANSPOSED, MO_PLAIN, 256, 32, 64, 256, 128, 384},
    {"nano, fc", MO_PLAIN, MO_TRANSPOSED, 256, 512, 128, 128, 128, 512},
    {"nano, weights of fc", MO_TRANSPOSED, MO_PLAIN, 192, 128, 4096, 512, 128, 128},
    {"tiny, fc", MO_PLAIN, MO_TRANSPOSED, 256, 1024, 256, 256, 256, 1024},
    {"tiny, proj", MO_PLAIN, MO_TRANSPOSED, 256, 256, 1024, 1024, 1024, 256},
    {"tiny, fc backward", MO_PLAIN, MO_PLAIN, 256, 256, 1024, 1024, 256, 256},
    {"tiny, weights of fc", MO_TRANSPOSED, MO_PLAIN, 256, 256, 4096, 1024, 256, 256},
    {"162M, fc", MO_PLAIN, MO_TRANSPOSED, 256, 3072, 768, 768, 768, 3072},
    {"162M, proj", MO_PLAIN, MO_TRANSPOSED, 256, 768, 3072, 3072, 3072, 768},
    {"162M, fc backward", MO_PLAIN, MO_PLAIN, 256, 768, 3072, 3072, 768, 768},
    {"162M, weights of fc", MO_TRANSPOSED, MO_PLAIN, 384, 768, 1024, 3072, 768, 768},
    {"162M, head", MO_PLAIN, MO_TRANSPOSED, 384, 768, 768, 768, 768, 50304},
};

enum { TURNS = 15 };
static const size_t most = (size_t)384 * 50304; /* numbers of the largest operand */

static double time_once(const tile *t, bool own, const float *a, const float *b, float *c)
{
  const double operations = 2.0 * (double)(t->rows * t->cols * t->inner);
  const int times = (int)(4e8 / operations) + 1;
  const double start = mo_seconds();
  for (int i = 0; i < times; i++)
    if (own)
      mo_block_gemm(t->transpose_a, t->transpose_b, t->rows, t->cols, t->inner, MO_NO_DIAGONAL,
                    1.0f, a, t->a_stride, b, t->b_stride, 0.0f, c, t->c_stride);
    else
      mo_gemm(t->transpose_a, t->transpose_b, t->rows, t->cols, t->inner, 1.0f, a, t->a_stride,
              b, t->b_stride, 0.0f, c, t->c_stride);
  return operations * times / (mo_seconds() - start) * 1e-9;
}

int main(void)
{
  float *a = mo_allocate(NULL, most * sizeof *a), *b = mo_allocate(NULL, most * sizeof *b);
  float *c = mo_allocate(NULL, most * sizeof *c);
  if (a == NULL || b == NULL || c == NULL) return 1;
  mo_random_fill(a, most, 1.0, 1, 0);
  mo_random_fill(b, most, 1.0, 2, 0);
  mo_blas_enter();
  printf("%-24s %8s %8s %8s\n", "GFLOP/s of a core", "BLAS", "ours", "ratio");
  for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
    double speeds[2][TURNS];
    for (int turn = 0; turn < TURNS; turn++)
      for (int own = 0; own < 2; own++)
        speeds[own][turn] = time_once(&tiles[i], own > 0, a, b, c);
    const double blas = bench_median(speeds[0], TURNS), ours = bench_median(speeds[1], TURNS);
    printf("%-24s %8.1f %8.1f %8.2f\n", tiles[i].what, blas, ours, ours / blas);
  }
  mo_blas_leave();
  mo_release(NULL, a, most * sizeof *a);
  mo_release(NULL, b, most * sizeof *b);
  mo_release(NULL, c, most * sizeof *c);
  return 0;
}
