/* gradient.c - accumulation, the tree over slices, norm and clipping. */
#include "train/gradient.h"

#include "base/parallel.h"
#include "comm/ranks.h"
#include "linalg/vector.h"
#include "train/evaluate.h"
#include "train/tokenizers.h"

#include <math.h>
#include <string.h>

enum { NORM_BLOCK = 1 << 16 }; /* fixed, so that the sum has the same bits for any threads */

static size_t block_count(const train_gradient *g)
{
  return (g->params->gradient_count + NORM_BLOCK - 1) / NORM_BLOCK;
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

/* The sums that wait while the tree is walked: at 2^level for every level below. */
static size_t tree_levels(size_t own)
{
  size_t levels = 0;
  while ((size_t)1 << levels < own) levels++;
  return levels;
}

size_t gradient_tree_bytes(size_t slices, size_t ranks, size_t parameters)
{
  return tree_levels(slices / ranks) * parameters * sizeof(float);
}

static bool open_partial(train_gradient *g)
{
  bool have = true;
  for (size_t level = 0; level < tree_levels(own_slices(g)); level++) {
    g->partial[level] = mo_allocate(NULL, g->params->gradient_count * sizeof(float));
    have = have && g->partial[level] != NULL;
  }
  return have;
}

mousse_status gradient_open(train_gradient *g, mo_error *error)
{
  const size_t own = g->micro_count / (size_t)g->comm->size;
  g->first = (size_t)g->comm->rank * own;
  g->end = g->first + own;
  g->overlap = g->overlap && g->comm->size > 1;
  g->tokens = mo_allocate(NULL, batch_tokens(g) * sizeof *g->tokens);
  g->targets = mo_allocate(NULL, batch_tokens(g) * sizeof *g->targets);
  const bool documents = g->loader->document_token != LOADER_NONE;
  if (documents) g->starts = mo_allocate(NULL, batch_tokens(g) * sizeof *g->starts);
  g->squares = mo_allocate(NULL, block_count(g) * sizeof *g->squares);
  g->losses = mo_allocate(NULL, 2 * g->micro_count * sizeof *g->losses);
  g->bytes = g->losses != NULL ? g->losses + g->micro_count : NULL;
  if (open_partial(g) && g->tokens != NULL && g->targets != NULL && g->squares != NULL &&
      g->losses != NULL && (g->starts != NULL || !documents) &&
      (!g->overlap || mo_background_start(&g->background, g->comm)))
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
  mo_release(NULL, g->starts, batch_tokens(g) * sizeof *g->starts);
  mo_release(NULL, g->squares, block_count(g) * sizeof *g->squares);
  mo_release(NULL, g->losses, 2 * g->micro_count * sizeof *g->losses);
  for (size_t level = 0; level < GRADIENT_LEVELS; level++) {
    mo_release(NULL, g->partial[level], g->params->gradient_count * sizeof(float));
    g->partial[level] = NULL;
  }
  g->tokens = g->targets = g->starts = NULL;
  g->squares = NULL;
  g->losses = g->bytes = NULL;
}

typedef struct block {
  float *values;
  size_t count;
} block;

static block block_at(const train_gradient *g, size_t item)
{
  const size_t first = item * NORM_BLOCK, left = g->params->gradient_count - first;
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

double gradient_clip(train_gradient *g, const gradient_result *result)
{
  if (g->clip <= 0 || !result->finite || result->norm <= g->clip) return 1;
  scaling s = {g, (float)(g->clip / result->norm)};
  mo_parallel(g->threads, block_count(g), scale_block, &s);
  return (double)s.factor;
}

/* The tree over this rank's slices is walked as a binary number is counted up: bit `level` of
 * the slices done before says whether a sum waits in partial[level]. The gradient of a slice is
 * written where its sum will wait, at the lowest 0, and the sums below are added to it; that of
 * the last one is written to the parameters' own place, and all that wait are added. */
static bool is_last(const train_gradient *g, size_t done)
{
  return done + 1 == own_slices(g);
}

static size_t lowest_zero(size_t done)
{
  size_t level = 0;
  while (done >> level & 1) level++;
  return level;
}

static float *place_of_slice(const train_gradient *g, size_t done)
{
  return is_last(g, done) ? g->params->gradients : g->partial[lowest_zero(done)];
}

/* The sums below the place of a slice, as bits. */
static size_t waiting_for(const train_gradient *g, size_t done)
{
  return is_last(g, done) ? done : ((size_t)1 << lowest_zero(done)) - 1;
}

typedef struct fold {
  const train_gradient *gradient;
  float *values;       /* a stretch of a slice's gradient, */
  size_t first, count; /* from `first` of the whole on */
  size_t waiting;      /* the levels to add, as bits */
} fold;

static void fold_block(void *context, size_t item, int thread)
{
  const fold *f = context;
  const size_t first = item * NORM_BLOCK, left = f->count - first;
  const size_t count = left < NORM_BLOCK ? left : NORM_BLOCK;
  (void)thread;
  for (size_t level = 0; f->waiting >> level > 0; level++)
    if (f->waiting >> level & 1)
      mo_accumulate(f->values + first, f->gradient->partial[level] + f->first + first, count);
}

static void fold_stretch(const train_gradient *g, fold f)
{
  f.gradient = g;
  if (f.waiting > 0)
    mo_parallel(g->threads, (f.count + NORM_BLOCK - 1) / NORM_BLOCK, fold_block, &f);
}

/* `done`: how many of this rank's slices were complete before this one. */
static void fold_slice(const train_gradient *g, size_t done)
{
  fold_stretch(g, (fold){.values = place_of_slice(g, done),
                         .count = g->params->gradient_count,
                         .waiting = waiting_for(g, done)});
}

/* A stretch of this rank's gradient is complete with its last micro-batch. */
static void submit(void *gradient, gpt_gradient_span span)
{
  train_gradient *g = gradient;
  if (span.count == 0) return; /* frozen */
  fold_stretch(g, (fold){.values = span.gradients,
                         .first = (size_t)(span.gradients - g->params->gradients),
                         .count = span.count,
                         .waiting = waiting_for(g, own_slices(g) - 1)});
  mo_background_submit(&g->background, span.gradients, span.count);
}

mousse_status gradient_batch(train_gradient *g, uint64_t step, size_t micro, gpt_batch *batch,
                             mo_error *error)
{
  *batch = (gpt_batch){g->tokens, g->targets, g->micro_batch, g->loader->length, g->starts};
  MO_TRY(loader_fill(g->loader, step, (uint64_t)micro * g->micro_batch, g->micro_batch,
                     g->tokens, g->targets, error));
  /* The next step's come from the disk while this one is computed. */
  loader_read_ahead(g->loader, step + 1, (uint64_t)micro * g->micro_batch, g->micro_batch);
  if (g->starts != NULL) loader_documents(g->loader, g->tokens, g->micro_batch, g->starts);
  if (micro != g->first) return MOUSSE_OK;
  g->counted = (uint64_t)(g->micro_count * batch_tokens(g));
  return g->loader->has_targets ? loader_targets(g->loader, step, &g->counted, error)
                                : MOUSSE_OK;
}

/* What a micro-batch counts for, 1 where all tokens are targets. */
static float weight_of(const train_gradient *g, const gpt_batch *batch)
{
  if (!g->loader->has_targets) return 1.0f;
  const double even = (double)g->counted / (double)g->micro_count;
  return even > 0 ? (float)((double)gpt_batch_targets(batch) / even) : 0.0f;
}

/* Into the place of its slice; the parameters have their own again afterwards. */
static mousse_status compute(train_gradient *g, size_t micro, const gpt_batch *batch,
                             float weight, mo_error *error)
{
  const size_t count = g->micro_count / g->slices, place = micro - g->first;
  float *own = g->params->gradients;
  gpt_move_gradients(g->params, place_of_slice(g, place / count));
  const mousse_status status = gpt_gradients(g->pass, batch, weight / (float)g->micro_count,
                                             place % count != 0, &g->losses[micro], error);
  gpt_move_gradients(g->params, own);
  return status;
}

mousse_status gradient_add(train_gradient *g, size_t micro, const gpt_batch *batch,
                           mo_error *error)
{
  const float weight = weight_of(g, batch);
  const size_t count = g->micro_count / g->slices, place = micro - g->first;
  const bool overlapped = g->overlap && micro + 1 == g->end;
  if (place == 0) memset(g->losses, 0, 2 * g->micro_count * sizeof *g->losses);
  gpt_pass_watch(g->pass, overlapped ? submit : NULL, g);
  MO_TRY(compute(g, micro, batch, weight, error));
  g->losses[micro] *= weight;
  g->bytes[micro] = batch_bytes(batch, g->byte_lengths);
  if ((place + 1) % count == 0 && !overlapped) fold_slice(g, place / count);
  return MOUSSE_OK;
}

/* A rank that failed did so before its first gradient was complete; the others do not know yet
 * and wait for all of them. */
static mousse_status end_overlap(train_gradient *g, mousse_status status, mo_error *error)
{
  for (size_t i = 0; status != MOUSSE_OK && i < gpt_completed_count(g->params); i++)
    submit(g, gpt_completed_span(g->params, i));
  const mousse_status summed =
      mo_background_wait(&g->background, status == MOUSSE_OK ? error : NULL);
  return mo_ranks_agree(g->comm, status != MOUSSE_OK ? status : summed, error);
}

mousse_status gradient_sum(train_gradient *g, mousse_status own, mo_error *error)
{
  if (g->overlap) {
    MO_TRY(end_overlap(g, own, error));
  } else {
    MO_TRY(mo_ranks_agree(g->comm, own, error));
    MO_TRY(mo_ranks_sum(g->comm, g->params->gradients, g->params->gradient_count, error));
  }
  /* A micro-batch's numbers are 0 on all ranks but one, so the sum only collects them. */
  return mo_ranks_sum(g->comm, g->losses, 2 * g->micro_count, error);
}

static double mean_loss(const train_gradient *g)
{
  double sum = 0;
  for (size_t i = 0; i < g->micro_count; i++) sum += (double)g->losses[i];
  return sum / (double)g->micro_count;
}

gradient_result gradient_measure(train_gradient *g)
{
  gradient_result result = {.loss = mean_loss(g), .norm = norm(g)};
  const double tokens = (double)g->counted;
  double bytes = 0;
  for (size_t i = 0; i < g->micro_count; i++) bytes += (double)g->bytes[i];
  result.bits_per_byte = bits_per_byte(result.loss * tokens, bytes);
  result.finite = isfinite(result.loss) && isfinite(result.norm);
  return result;
}
