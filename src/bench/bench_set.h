/* bench_set.h - the hidden matrices of GPT layers, as an optimizer meets them: per layer four
 * of width x width, one of 4 width x width and one of width x 4 width. */
#ifndef MOUSSE_BENCH_BENCH_SET_H
#define MOUSSE_BENCH_BENCH_SET_H

#include "base/error.h"
#include "base/memory.h"

#include <stdint.h>

typedef struct bench_matrix {
  size_t rows, cols;
  float *value, *gradient; /* inside the set's arrays */
} bench_matrix;

typedef struct bench_set {
  bench_matrix *matrices; /* the large ones first */
  size_t count;
  float *values, *gradients; /* `floats` each; all 0 at first */
  size_t floats;
  mo_arena arena;
} bench_set;

mousse_status bench_set_create(bench_set *set, size_t width, size_t layers, mo_error *error);
void bench_set_release(bench_set *set);
void bench_set_fill(bench_set *set, int threads);  /* as bench_gradient makes them */
void bench_set_clear(bench_set *set, int threads); /* gradients of 0 */

/* A normal gradient whose rows and columns fade as 1/sqrt(i): the eigenvalues of its statistics
 * fall as 1/i, like those in training, where the largest is ten to some hundred times the mean.
 * What a refresh costs depends on it. */
void bench_gradient(size_t rows, size_t cols, uint64_t stream, float *gradient);

/* Plain Muon, the yardstick: momentum, five Newton-Schulz iterations of three matrix products
 * each, none of which uses that a product is symmetric, and the step. Parallel over matrices,
 * like the optimizers. */
typedef struct plain_muon plain_muon;
mousse_status plain_muon_create(plain_muon **muon, const bench_set *set, int threads,
                                mo_error *error);
void plain_muon_destroy(plain_muon *muon); /* accepts NULL */
void plain_muon_step(plain_muon *muon);

#endif
