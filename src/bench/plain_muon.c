/* plain_muon.c - Muon as published, with nothing but matrix products.
 *
 *     M <- mu M + G,  X = M / ||M||,  five times:  A = X X^T,  B = b A + c A A,  X <- a X + B X
 *     W <- W - lr X
 *
 * from the right for tall matrices, so that A is on the shorter side.
 */
#include "base/parallel.h"
#include "base/simd.h"
#include "bench/bench_set.h"
#include "linalg/blas.h"
#include "linalg/vector.h"

#include <math.h>
#include <string.h>

struct plain_muon {
  const bench_set *set; /* borrowed */
  float *momentum;      /* set->floats */
  float **work;         /* one per thread: two arrays and two squares of the largest matrix */
  int threads;
  mo_arena arena;
};

enum { ITERATIONS = 5 };

static void lay_out(plain_muon *muon, mo_arena *arena)
{
  size_t most = 0;
  for (size_t i = 0; i < muon->set->count; i++) {
    const bench_matrix *m = &muon->set->matrices[i];
    const size_t n = m->rows < m->cols ? m->rows : m->cols;
    const size_t floats = 2 * m->rows * m->cols + 2 * n * n;
    most = floats > most ? floats : most;
  }
  muon->momentum = mo_arena_floats(arena, muon->set->floats);
  muon->work = mo_arena_take(arena, (size_t)muon->threads, sizeof *muon->work);
  for (int i = 0; i < muon->threads; i++) {
    float *work = mo_arena_floats(arena, most);
    if (muon->work != NULL) muon->work[i] = work;
  }
}

mousse_status plain_muon_create(plain_muon **muon, const bench_set *set, int threads,
                                mo_error *error)
{
  plain_muon *made = mo_allocate(NULL, sizeof *made);
  *muon = made;
  if (made == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for plain Muon");
  *made = (plain_muon){.set = set, .threads = threads, .arena = mo_arena_start(NULL)};
  lay_out(made, &made->arena);
  if (!mo_arena_commit(&made->arena))
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for plain Muon on %d threads", threads);
  lay_out(made, &made->arena);
  return MOUSSE_OK;
}

void plain_muon_destroy(plain_muon *muon)
{
  if (muon == NULL) return;
  mo_arena_release(&muon->arena);
  mo_release(NULL, muon, sizeof *muon);
}

MO_CLONES(static void accumulate_gradient(float *restrict momentum,
                                          const float *restrict gradient, size_t count))
{
#pragma omp simd
  for (size_t i = 0; i < count; i++) momentum[i] = 0.95f * momentum[i] + gradient[i];
}

/* next = a x + (b A + c A A) x for a wide x, or x (...) for a tall one. */
static void iterate(size_t rows, size_t cols, const float *x, float *next, float *gram,
                    float *factor)
{
  const float a = 3.4445f, b = -4.7750f, c = 2.0315f;
  const bool wide = rows <= cols;
  const size_t n = wide ? rows : cols, k = wide ? cols : rows;
  mo_gemm(wide ? MO_PLAIN : MO_TRANSPOSED, wide ? MO_TRANSPOSED : MO_PLAIN, n, n, k, 1.0f, x,
          cols, x, cols, 0.0f, gram, n);
  memcpy(factor, gram, n * n * sizeof *factor);
  mo_gemm(MO_PLAIN, MO_PLAIN, n, n, n, c, gram, n, gram, n, b, factor, n);
  memcpy(next, x, rows * cols * sizeof *next);
  if (wide)
    mo_gemm(MO_PLAIN, MO_PLAIN, rows, cols, n, 1.0f, factor, n, x, cols, a, next, cols);
  else
    mo_gemm(MO_PLAIN, MO_PLAIN, rows, cols, n, 1.0f, x, cols, factor, n, a, next, cols);
}

static void step_one(void *context, size_t item, int thread)
{
  const plain_muon *muon = context;
  const bench_matrix *m = &muon->set->matrices[item];
  const size_t all = m->rows * m->cols, n = m->rows < m->cols ? m->rows : m->cols;
  float *momentum = muon->momentum + (m->value - muon->set->values);
  float *x = muon->work[thread], *next = x + all, *gram = next + all, *factor = gram + n * n;

  accumulate_gradient(momentum, m->gradient, all);
  mo_copy_scaled(x, momentum, all, (float)(1.0 / (sqrt(mo_sum_squares(momentum, all)) + 1e-7)));
  for (int i = 0; i < ITERATIONS; i++) {
    iterate(m->rows, m->cols, x, next, gram, factor);
    float *swapped = x;
    x = next;
    next = swapped;
  }
  mo_apply(m->value, x, all, 1.0f, 1e-3f);
}

void plain_muon_step(plain_muon *muon)
{
  mo_blas_enter();
  mo_parallel(muon->threads, muon->set->count, step_one, muon);
  mo_blas_leave();
}
