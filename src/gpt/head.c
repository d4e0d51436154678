/* head.c - language-model head, softmax and cross-entropy, some rows at a time.
 *
 *     logits = final W^T,  loss = mean of -log softmax(logits)[target]
 *     d_logits = factor / N * (softmax(logits) - [target]),  d_final = d_logits W,
 *     d_W = d_logits^T final
 *
 * All three products are done while a chunk's logits exist, so an N x V array never does; the
 * head's gradient is therefore taken here and not in backward.c.
 */
#include "gpt/layers/layers.h"
#include "gpt/pass.h"
#include "linalg/gemm_grid.h"

enum { ROWS_PER_ITEM = 8 };

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
  const size_t end =
      start + ROWS_PER_ITEM < c->rows.count ? start + ROWS_PER_ITEM : c->rows.count;
  for (size_t i = start; i < end; i++) {
    float *logits = s->pass->logits + i * s->V;
    const size_t row = c->rows.first + i, target = s->batch->targets[row];
    s->pass->losses[row] =
        s->gradients ? cross_entropy_gradient(logits, s->V, target, s->factor / (float)s->N)
                     : cross_entropy_loss(logits, s->V, target);
  }
}

static void run_chunk(const gpt_step *s, gpt_rows rows)
{
  const gpt_pass *p = s->pass;
  const gpt_tensor *w = gpt_params_head(p->params);
  const size_t C = s->C, V = s->V, n = rows.count;
  const int threads = p->shape.threads;
  const float *final = p->final + rows.first * C;

  mo_product forward = {.transpose_b = MO_TRANSPOSED,
                        .rows = n,
                        .cols = V,
                        .inner = C,
                        .alpha = 1,
                        .a = final,
                        .a_stride = C,
                        .b = w->value,
                        .b_stride = C,
                        .c = p->logits,
                        .c_stride = V};
  const mo_job products = mo_product_plan(&forward);
  mo_parallel_jobs(threads, &products, 1);

  chunk c = {s, rows};
  mo_parallel(threads, (n + ROWS_PER_ITEM - 1) / ROWS_PER_ITEM, loss_rows, &c);
  if (!s->gradients) return;

  mo_product d_final = {.rows = n,
                        .cols = C,
                        .inner = V,
                        .alpha = 1,
                        .a = p->logits,
                        .a_stride = V,
                        .b = w->value,
                        .b_stride = C,
                        .c = p->gradient.d_norm + rows.first * C,
                        .c_stride = C};
  mo_product d_weight = {.transpose_a = MO_TRANSPOSED,
                         .rows = V,
                         .cols = C,
                         .inner = n,
                         .alpha = 1,
                         .beta = rows.first > 0 ? 1.0f : s->beta,
                         .a = p->logits,
                         .a_stride = V,
                         .b = final,
                         .b_stride = C,
                         .c = w->gradient,
                         .c_stride = C};
  const mo_job both[] = {mo_product_plan(&d_final), mo_product_plan(&d_weight)};
  mo_parallel_jobs(threads, both, 2);
}

float gpt_head(const gpt_step *s)
{
  const size_t step = s->pass->head_rows;
  for (size_t first = 0; first < s->N; first += step)
    run_chunk(s, (gpt_rows){first, s->N - first < step ? s->N - first : step});
  double sum = 0.0;
  for (size_t i = 0; i < s->N; i++) sum += s->pass->losses[i];
  return (float)(sum / (double)s->N);
}
