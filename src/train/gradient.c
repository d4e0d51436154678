/* gradient.c - accumulation, the tree over slices, norm and clipping. */
#include "train/gradient.h"

#include "base/parallel.h"
#include "comm/ranks.h"
#include "linalg/vector.h"

#include <math.h>
#include <string.h>

enum { NORM_BLOCK = 1 << 16 }; /* fixed, so that the sum has the same bits for any threads */

static size_t block_count(const train_gradient *g)
{
  return (g->params->value_count + NORM_BLOCK - 1) / NORM_BLOCK;
}

static size_t batch_tokens(const train_gradient *g)
{
  return g->micro_batch * g->loader->length;
}

static size_t own_slices(const train_gradient *g)
{
  return g->slices / (size_t)g->comm->size;
}

static bool is_power_of_two(size_t n)
{
  return n > 0 && (n & (n - 1)) == 0;
}

bool gradient_divides(size_t slices, size_t ranks)
{
  return slices % ranks == 0 && (ranks == 1 || is_power_of_two(slices / ranks));
}

/* The sums that wait while a tree over `slices` is walked: at 2^level for every level below. */
static bool open_partial(train_gradient *g)
{
  bool have = true;
  for (size_t level = 0; (size_t)1 << level < own_slices(g); level++) {
    g->partial[level] = mo_allocate(NULL, g->params->value_count * sizeof(float));
    have = have && g->partial[level] != NULL;
  }
  return have;
}

mousse_status gradient_open(train_gradient *g, mo_error *error)
{
  g->overlap = g->overlap && g->comm->size > 1 && own_slices(g) == 1;
  g->tokens = mo_allocate(NULL, batch_tokens(g) * sizeof *g->tokens);
  g->targets = mo_allocate(NULL, batch_tokens(g) * sizeof *g->targets);
  g->squares = mo_allocate(NULL, block_count(g) * sizeof *g->squares);
  g->losses = mo_allocate(NULL, g->micro_count * sizeof *g->losses);
  if (open_partial(g) && g->tokens != NULL && g->targets != NULL && g->squares != NULL &&
      g->losses != NULL && (!g->overlap || mo_background_start(&g->background, g->comm)))
    return MOUSSE_OK;
  gradient_close(g);
  return mo_fail(error, MOUSSE_NO_MEMORY,
                 "no memory or no thread for batches of %zu sequences in %zu slices",
                 g->micro_batch, g->slices);
}

void gradient_close(train_gradient *g)
{
  if (g->params == NULL) return;
  mo_background_stop(&g->background);
  mo_release(NULL, g->tokens, batch_tokens(g) * sizeof *g->tokens);
  mo_release(NULL, g->targets, batch_tokens(g) * sizeof *g->targets);
  mo_release(NULL, g->squares, block_count(g) * sizeof *g->squares);
  mo_release(NULL, g->losses, g->micro_count * sizeof *g->losses);
  for (size_t level = 0; level < GRADIENT_LEVELS; level++) {
    mo_release(NULL, g->partial[level], g->params->value_count * sizeof(float));
    g->partial[level] = NULL;
  }
  g->tokens = g->targets = NULL;
  g->squares = NULL;
  g->losses = NULL;
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

static void submit(void *gradient, gpt_gradient_span run)
{
  train_gradient *g = gradient;
  mo_background_submit(&g->background, run.gradients, run.count);
}

/* One slice's gradient: its micro-batches one after the other. */
static mousse_status collect_slice(train_gradient *g, uint64_t step, size_t slice,
                                   mo_error *error)
{
  const float share = 1.0f / (float)g->micro_count;
  const gpt_batch batch = {g->tokens, g->targets, g->micro_batch, g->loader->length};
  const size_t count = g->micro_count / g->slices, start = slice * count;
  for (size_t micro = start; micro < start + count; micro++) {
    const uint64_t first = (uint64_t)micro * g->micro_batch;
    const bool last = micro + 1 == start + count;
    MO_TRY(loader_fill(g->loader, step, first, g->micro_batch, g->tokens, g->targets, error));
    gpt_pass_watch(g->pass, g->overlap && last ? submit : NULL, g);
    MO_TRY(gpt_gradients(g->pass, &batch, share, micro > start, &g->losses[micro], error));
  }
  return MOUSSE_OK;
}

/* gradients = partial + gradients, or partial = gradients. */
typedef struct merge {
  const train_gradient *gradient;
  float *partial;
  bool keep;
} merge;

static void merge_block(void *context, size_t item, int thread)
{
  const merge *m = context;
  const block b = block_at(m->gradient, item);
  float *partial = m->partial + item * NORM_BLOCK;
  (void)thread;
  if (m->keep)
    memcpy(partial, b.values, b.count * sizeof *partial);
  else
    mo_accumulate(b.values, partial, b.count);
}

static void merge_level(train_gradient *g, size_t level, bool keep)
{
  merge m = {g, g->partial[level], keep};
  mo_parallel(g->threads, block_count(g), merge_block, &m);
}

/* The tree over this rank's slices, walked as a binary number is counted up: bit `level` of the
 * slices done so far says whether a sum waits there. */
static mousse_status collect_own(train_gradient *g, uint64_t step, mo_error *error)
{
  const size_t count = own_slices(g), first = (size_t)g->comm->rank * count;
  memset(g->losses, 0, g->micro_count * sizeof *g->losses);
  for (size_t done = 0; done < count; done++) {
    const bool last = done + 1 == count;
    size_t level = 0;
    MO_TRY(collect_slice(g, step, first + done, error));
    for (; done >> level & 1; level++) merge_level(g, level, false);
    if (!last) merge_level(g, level, true);
    for (; last && done >> level > 0; level++)
      if (done >> level & 1) merge_level(g, level, false);
  }
  return MOUSSE_OK;
}

static double mean_loss(const train_gradient *g)
{
  double sum = 0;
  for (size_t i = 0; i < g->micro_count; i++) sum += (double)g->losses[i];
  return sum / (double)g->micro_count;
}

/* A rank that failed did so before its first gradient was complete; the others do not know yet
 * and wait for all of them. */
static mousse_status end_overlap(train_gradient *g, mousse_status status, mo_error *error)
{
  for (size_t i = 0; status != MOUSSE_OK && gpt_completed_span(g->params, i).count > 0; i++)
    submit(g, gpt_completed_span(g->params, i));
  const mousse_status summed =
      mo_background_wait(&g->background, status == MOUSSE_OK ? error : NULL);
  return mo_ranks_agree(g->comm, status != MOUSSE_OK ? status : summed, error);
}

/* The gradient of this rank's slices, then that of all. */
static mousse_status collect_all(train_gradient *g, uint64_t step, mo_error *error)
{
  const mousse_status status = collect_own(g, step, error);
  if (g->overlap) return end_overlap(g, status, error);
  MO_TRY(mo_ranks_agree(g->comm, status, error));
  return mo_ranks_sum(g->comm, g->params->gradients, g->params->value_count, error);
}

mousse_status gradient_collect(train_gradient *g, uint64_t step, gradient_result *result,
                               mo_error *error)
{
  MO_TRY(collect_all(g, step, error));
  /* A micro-batch's loss is 0 on all ranks but one, so the sum only collects them. */
  MO_TRY(mo_ranks_sum(g->comm, g->losses, g->micro_count, error));
  result->loss = mean_loss(g);
  result->norm = norm(g);
  result->finite = isfinite(result->loss) && isfinite(result->norm);
  if (result->finite) clip(g, result->norm);
  return MOUSSE_OK;
}
