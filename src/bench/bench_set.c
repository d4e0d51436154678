/* bench_set.c - the hidden matrices of GPT layers. */
#include "bench/bench_set.h"

#include "base/parallel.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

enum { PER_LAYER = 6, LARGE_PER_LAYER = 2 };

static void lay_out(bench_set *set, size_t width)
{
  set->matrices = mo_arena_take(&set->arena, set->count, sizeof *set->matrices);
  set->values = mo_arena_floats(&set->arena, set->floats);
  set->gradients = mo_arena_floats(&set->arena, set->floats);
  if (set->matrices == NULL) return;
  const size_t large = set->count / PER_LAYER * LARGE_PER_LAYER;
  size_t offset = 0;
  for (size_t i = 0; i < set->count; i++) {
    bench_matrix *m = &set->matrices[i];
    m->rows = i < large && i % 2 == 0 ? 4 * width : width;
    m->cols = i < large && i % 2 == 1 ? 4 * width : width;
    m->value = set->values + offset;
    m->gradient = set->gradients + offset;
    offset += m->rows * m->cols;
  }
}

mousse_status bench_set_create(bench_set *set, size_t width, size_t layers, mo_error *error)
{
  *set = (bench_set){.count = PER_LAYER * layers,
                     .floats = 12 * width * width * layers,
                     .arena = mo_arena_start(NULL)};
  lay_out(set, width);
  if (!mo_arena_commit(&set->arena))
    return mo_fail(error, MOUSSE_NO_MEMORY,
                   "no memory for the matrices of %zu layers of width %zu", layers, width);
  lay_out(set, width);
  return MOUSSE_OK;
}

void bench_set_release(bench_set *set)
{
  mo_arena_release(&set->arena);
}

void bench_gradient(size_t rows, size_t cols, uint64_t stream, float *gradient)
{
  mo_random_fill(gradient, rows * cols, 1e-3, 1, stream);
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j++)
      gradient[i * cols + j] /= sqrtf((float)((i + 1) * (j + 1)));
}

static void fill_one(void *context, size_t item, int thread)
{
  const bench_matrix *m = &((const bench_set *)context)->matrices[item];
  (void)thread;
  bench_gradient(m->rows, m->cols, item, m->gradient);
}

static void clear_one(void *context, size_t item, int thread)
{
  const bench_matrix *m = &((const bench_set *)context)->matrices[item];
  (void)thread;
  memset(m->gradient, 0, m->rows * m->cols * sizeof *m->gradient);
}

void bench_set_fill(bench_set *set, int threads)
{
  mo_parallel(threads, set->count, fill_one, set);
}

void bench_set_clear(bench_set *set, int threads)
{
  mo_parallel(threads, set->count, clear_one, set);
}
