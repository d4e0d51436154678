/* head.c - language-model head, softmax and cross-entropy, some rows at a time.
 *
 *     logits = final W^T,  loss = mean of -log softmax(logits)[target] over the n rows with one
 *     d_logits = factor / n * (softmax(logits) - [target]),  d_final = d_logits W,
 *     d_W = d_logits^T final
 *
 * All three products are done while a chunk's logits exist, so an N x V array never does; the
 * head's gradient is therefore taken here and not in backward.c.
 */
#include "gpt/layers/layers.h"
#include "gpt/pass.h"
#include "linalg/gemm_grid.h"

#include <string.h>

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

static void run_products(const gpt_step *s, mo_task *tasks, size_t count)
{
  gpt_timed_task timed[2];
  for (size_t i = 0; i < count; i++)
    tasks[i] = gpt_time_task(s->pass->profile, &timed[i], tasks[i], GPT_PROFILE_HEAD);
  mo_parallel_tasks(s->pass->shape.threads, tasks, count);
}

static void run_chunk(const gpt_step *s, gpt_rows rows)
{
  const gpt_pass *p = s->pass;
  const gpt_tensor *w = gpt_params_head(p->params);
  const size_t C = s->C, V = s->V, n = rows.count;
  const int threads = p->shape.threads;
  const float *final = p->final + rows.first * C;

  mo_product forward =
      mo_dense_product(MO_PLAIN, MO_TRANSPOSED, n, V, C, final, w->value, 0.0f, p->logits);
  mo_task products = mo_product_plan(&forward);
  run_products(s, &products, 1);

  chunk c = {s, rows};
  mo_parallel(threads, (n + ROWS_PER_ITEM - 1) / ROWS_PER_ITEM, loss_rows, &c);
  if (!s->gradients) return;

  mo_product d_final = mo_dense_product(MO_PLAIN, MO_PLAIN, n, C, V, p->logits, w->value, 0.0f,
                                        p->gradient.d_norm + rows.first * C);
  mo_product d_weight = mo_dense_product(MO_TRANSPOSED, MO_PLAIN, V, C, n, p->logits, final,
                                         rows.first > 0 ? 1.0f : s->beta, w->gradient);
  mo_task both[] = {mo_product_plan(&d_final), mo_product_plan(&d_weight)};
  run_products(s, both, w->frozen ? 1 : 2);
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
