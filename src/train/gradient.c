/* gradient.c - accumulation, norm and clipping. */
#include "train/gradient.h"

#include "base/parallel.h"
#include "linalg/vector.h"

#include <math.h>

enum { NORM_BLOCK = 1 << 16 }; /* fixed, so that the sum has the same bits for any threads */

static size_t block_count(const train_gradient *g)
{
  return (g->params->value_count + NORM_BLOCK - 1) / NORM_BLOCK;
}

static size_t batch_tokens(const train_gradient *g)
{
  return g->micro_batch * g->loader->length;
}

mousse_status gradient_open(train_gradient *g, mo_error *error)
{
  g->tokens = mo_allocate(NULL, batch_tokens(g) * sizeof *g->tokens);
  g->targets = mo_allocate(NULL, batch_tokens(g) * sizeof *g->targets);
  g->squares = mo_allocate(NULL, block_count(g) * sizeof *g->squares);
  if (g->tokens != NULL && g->targets != NULL && g->squares != NULL) return MOUSSE_OK;
  gradient_close(g);
  return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for batches of %zu sequences",
                 g->micro_batch);
}

void gradient_close(train_gradient *g)
{
  if (g->params == NULL) return;
  mo_release(NULL, g->tokens, batch_tokens(g) * sizeof *g->tokens);
  mo_release(NULL, g->targets, batch_tokens(g) * sizeof *g->targets);
  mo_release(NULL, g->squares, block_count(g) * sizeof *g->squares);
  g->tokens = g->targets = NULL;
  g->squares = NULL;
}

typedef struct block {
  float *values;
  size_t count;
} block;

static block block_at(const train_gradient *g, size_t item)
{
  const size_t first = item * NORM_BLOCK, left = g->params->value_count - first;
  return (block){g->params->gradients + first, left < NORM_BLOCK ? left : NORM_BLOCK};
}

static void square_block(void *context, size_t item, int thread)
{
  const train_gradient *g = context;
  const block b = block_at(g, item);
  (void)thread;
  g->squares[item] = mo_sum_squares(b.values, b.count);
}

static double norm(train_gradient *g)
{
  double sum = 0;
  mo_parallel(g->threads, block_count(g), square_block, g);
  for (size_t i = 0; i < block_count(g); i++) sum += g->squares[i];
  return sqrt(sum);
}

typedef struct scaling {
  const train_gradient *gradient;
  float factor;
} scaling;

static void scale_block(void *context, size_t item, int thread)
{
  const scaling *s = context;
  const block b = block_at(s->gradient, item);
  (void)thread;
  mo_scale(b.values, b.count, s->factor);
}

static void clip(train_gradient *g, double length)
{
  if (g->clip <= 0 || length <= g->clip) return;
  scaling s = {g, (float)(g->clip / length)};
  mo_parallel(g->threads, block_count(g), scale_block, &s);
}

mousse_status gradient_collect(train_gradient *g, uint64_t step, gradient_result *result,
                               mo_error *error)
{
  const float share = 1.0f / (float)g->micro_count;
  const gpt_batch batch = {g->tokens, g->targets, g->micro_batch, g->loader->length};
  double sum = 0;
  for (size_t micro = 0; micro < g->micro_count; micro++) {
    float loss = 0;
    const uint64_t first = loader_first(micro, 0, 1, g->micro_batch);
    MO_TRY(loader_fill(g->loader, step, first, g->micro_batch, g->tokens, g->targets, error));
    MO_TRY(gpt_gradients(g->pass, &batch, share, micro > 0, &loss, error));
    sum += (double)loss;
  }
  result->loss = sum / (double)g->micro_count;
  result->norm = norm(g);
  result->finite = isfinite(result->loss) && isfinite(result->norm);
  if (result->finite) clip(g, result->norm);
  return MOUSSE_OK;
}
