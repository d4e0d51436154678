/* head.c - language-model head, softmax and cross-entropy, some rows at a time.
 *
 *     logits = final W^T,  loss = mean of -log softmax(logits)[target] over the n rows with one
 *     d_logits = factor / n * (softmax(logits) - [target]),  d_final = d_logits W,
 *     d_W = d_logits^T final
 *
 * All three products are done while a chunk's logits exist, so an N x V array never does; the
 * head's gradient is therefore taken here and not in backward.c. d_final is cut along the
 * vocabulary, and the parts are added up in their order.
 */
#include "gpt/layers/layers.h"
#include "gpt/pass.h"
#include "linalg/gemm_grid.h"
#include "linalg/vector.h"

#include <string.h>

enum { ROWS_PER_ITEM = 8, HEAD_TILE = 256 };

typedef struct chunk {
  const gpt_step *step;
  gpt_rows rows;
} chunk;

static void loss_rows(void *context, size_t item, int thread)
{
  (void)thread;
  const chunk *c = context;
  const gpt_step *s = c->step;
  const size_t start = item * ROWS_PER_ITEM;
  const float factor = s->factor / (float)s->counted;
  const size_t end =
      start + ROWS_PER_ITEM < c->rows.count ? start + ROWS_PER_ITEM : c->rows.count;
  gpt_lap lap = gpt_lap_start(s->pass->profile);
  for (size_t i = start; i < end; i++) {
    float *logits = s->pass->logits + i * s->V;
    const size_t row = c->rows.first + i, target = s->batch->targets[row];
    if (target == GPT_NO_TARGET) {
      s->pass->losses[row] = 0.0f;
      memset(logits, 0, s->V * sizeof *logits); /* its gradient */
      continue;
    }
    s->pass->losses[row] = s->gradients ? cross_entropy_gradient(logits, s->V, target, factor)
                                        : cross_entropy_loss(logits, s->V, target);
  }
  gpt_lap_end(&lap, GPT_PROFILE_LOSS);
}

enum { MOST_TASKS = GPT_MOST_HEAD_PARTS + 2 };

static void run_products(const gpt_step *s, mo_task *tasks, size_t count)
{
  gpt_timed_task timed[MOST_TASKS];
  for (size_t i = 0; i < count; i++)
    tasks[i] = gpt_time_task(s->pass->profile, &timed[i], tasks[i], GPT_PROFILE_HEAD);
  mo_parallel_tasks(s->pass->shape.threads, tasks, count);
}

/* The product of one part of the vocabulary: into the sums, or the result if it is the only one. */
static mo_product part_product(const gpt_step *s, gpt_rows rows, size_t part)
{
  const gpt_pass *p = s->pass;
  const size_t C = s->C, V = s->V, parts = p->head_parts;
  float *d_final = p->gradient.d_norm + rows.first * C;
  if (parts == 1)
    return mo_dense_product(MO_PLAIN, MO_PLAIN, rows.count, C, V, p->logits,
                            gpt_params_head(p->params)->value, 0.0f, d_final);
  const size_t length = (V / parts + 15) / 16 * 16, first = part * length;
  const size_t count = part + 1 < parts ? length : V - first;
  mo_product product =
      mo_dense_product(MO_PLAIN, MO_PLAIN, rows.count, C, count, p->logits + first,
                       gpt_params_head(p->params)->value + first * C, 0.0f,
                       p->head_sums + part * rows.count * C);
  product.a_stride = V;
  product.tile_rows = HEAD_TILE;
  product.tile_cols = C;
  return product;
}

static void add_parts(void *context, size_t item, int thread)
{
  const chunk *c = context;
  const gpt_pass *p = c->step->pass;
  const size_t C = c->step->C, start = item * ROWS_PER_ITEM, left = c->rows.count - start;
  const size_t count = (left < ROWS_PER_ITEM ? left : ROWS_PER_ITEM) * C;
  const float *sums = p->head_sums + start * C;
  float *d_final = p->gradient.d_norm + (c->rows.first + start) * C;
  (void)thread;
  gpt_lap lap = gpt_lap_start(p->profile);
  memcpy(d_final, sums, count * sizeof *d_final);
  for (size_t part = 1; part < p->head_parts; part++)
    mo_accumulate(d_final, sums + part * c->rows.count * C, count);
  gpt_lap_end(&lap, GPT_PROFILE_HEAD);
}

/* Both gradients of the head, from those of the logits. */
static void run_backward(const gpt_step *s, chunk *c)
{
  const gpt_pass *p = s->pass;
  const gpt_tensor *w = gpt_params_head(p->params);
  const size_t parts = p->head_parts,
               items = (c->rows.count + ROWS_PER_ITEM - 1) / ROWS_PER_ITEM;
  mo_product d_final[GPT_MOST_HEAD_PARTS];
  mo_task tasks[MOST_TASKS];
  for (size_t i = 0; i < parts; i++) {
    d_final[i] = part_product(s, c->rows, i);
    tasks[i] = mo_product_plan(&d_final[i]);
  }
  mo_product d_weight = mo_dense_product(MO_TRANSPOSED, MO_PLAIN, s->V, s->C, c->rows.count,
                                         p->logits, p->final + c->rows.first * s->C,
                                         c->rows.first > 0 ? 1.0f : s->beta, w->gradient);
  mo_product end = mo_product_cut_end(&d_weight);
  tasks[parts] = mo_product_plan(&d_weight);
  tasks[parts + 1] = mo_product_plan(&end);
  run_products(s, tasks, w->frozen ? parts : parts + 2);
  if (parts > 1) mo_parallel(p->shape.threads, items, add_parts, c);
}

static void run_chunk(const gpt_step *s, gpt_rows rows)
{
  const gpt_pass *p = s->pass;
  const size_t n = rows.count;
  const int threads = p->shape.threads;
  mo_product forward =
      mo_dense_product(MO_PLAIN, MO_TRANSPOSED, n, s->V, s->C, p->final + rows.first * s->C,
                       gpt_params_head(p->params)->value, 0.0f, p->logits);
  mo_product end = mo_product_cut_end(&forward);
  mo_task products[] = {mo_product_plan(&forward), mo_product_plan(&end)};
  run_products(s, products, 2);

  chunk c = {s, rows};
  mo_parallel(threads, (n + ROWS_PER_ITEM - 1) / ROWS_PER_ITEM, loss_rows, &c);
  if (s->gradients) run_backward(s, &c);
}

float gpt_head(const gpt_step *s)
{
  const size_t step = s->pass->head_rows;
  for (size_t first = 0; first < s->N; first += step)
    run_chunk(s, (gpt_rows){first, s->N - first < step ? s->N - first : step});
  double sum = 0.0;
  for (size_t i = 0; i < s->N; i++) sum += s->pass->losses[i];
  return s->counted > 0 ? (float)(sum / (double)s->counted) : 0.0f;
}
