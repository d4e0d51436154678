/* forward.c - tokens to the normalised output of the last layer.
 *
 *     x = wte[token]
 *     per layer:  x += c_proj attention(q, k, v of rms(x));   x += proj relu(fc rms(x))^2
 *     final = rms(x)
 *
 * Everything but attention works on single rows. A tile of rows therefore runs from behind one
 * attention up to the next in one go, and a layer needs two parallel loops.
 */
#include "base/parallel.h"
#include "gpt/layers/layers.h"
#include "gpt/pass.h"

static void before_attention(const gpt_step *s, size_t layer, gpt_rows rows)
{
  const gpt_pass *p = s->pass;
  const gpt_layer w = gpt_params_layer(p->params, layer);
  const gpt_activations *k = &p->kept[layer];
  const size_t C = s->C, n = rows.count, at = rows.first;
  float *qkv = k->qkv + at * 3 * C;
  rmsnorm_forward(k->norm1 + at * C, k->r1 + at, p->x + at * C, n, C);
  linear_forward(qkv, k->norm1 + at * C, w.c_q->value, n, C, 3 * C);
  rope_norm_forward(qkv, k->r_qk + at * 2 * s->H, p->cosines, p->sines, at, n, s->T, s->H,
                    s->head_size);
}

static void after_attention(const gpt_step *s, size_t layer, gpt_rows rows)
{
  const gpt_pass *p = s->pass;
  const gpt_layer w = gpt_params_layer(p->params, layer);
  const gpt_activations *k = &p->kept[layer];
  const size_t C = s->C, n = rows.count, at = rows.first;
  float *x = p->x + at * C, *hidden = k->hidden + at * 4 * C;
  linear_forward_add(x, k->attended + at * C, w.c_proj->value, n, C, C);
  rmsnorm_forward(k->norm2 + at * C, k->r2 + at, x, n, C);
  linear_forward(hidden, k->norm2 + at * C, w.fc->value, n, C, 4 * C);
  relu2_forward(hidden, n * 4 * C);
  linear_forward_add(x, hidden, w.proj->value, n, 4 * C, C);
}

static void first_tile(void *context, size_t item, int thread)
{
  (void)thread;
  const gpt_step *s = ((const gpt_layer_step *)context)->step;
  const gpt_rows rows = gpt_tile(s, item);
  embedding_forward(s->pass->x + rows.first * s->C, gpt_params_wte(s->pass->params)->value,
                    s->batch->tokens + rows.first, rows.count, s->C);
  before_attention(s, 0, rows);
}

static void middle_tile(void *context, size_t item, int thread)
{
  (void)thread;
  const gpt_layer_step *c = context;
  const gpt_rows rows = gpt_tile(c->step, item);
  after_attention(c->step, c->layer, rows);
  before_attention(c->step, c->layer + 1, rows);
}

static void last_tile(void *context, size_t item, int thread)
{
  (void)thread;
  const gpt_layer_step *c = context;
  const gpt_step *s = c->step;
  const gpt_rows rows = gpt_tile(s, item);
  const size_t start = rows.first * s->C;
  after_attention(s, c->layer, rows);
  rmsnorm_forward(s->pass->final + start, s->pass->r_final + rows.first, s->pass->x + start,
                  rows.count, s->C);
}

static size_t attention_blocks(const gpt_step *s)
{
  return (s->T + ATTENTION_BLOCK - 1) / ATTENTION_BLOCK;
}

/* Item: one block of queries of one head. The blocks of a head follow each other, while its
 * keys and values are in the cache; the last block, which sees most keys, comes first. */
static void attention_item(void *context, size_t item, int thread)
{
  const gpt_layer_step *c = context;
  const gpt_step *s = c->step;
  const gpt_activations *k = &s->pass->kept[c->layer];
  const size_t C = s->C, blocks = attention_blocks(s);
  const size_t head = item / blocks, block = blocks - 1 - item % blocks;
  const size_t first = block * ATTENTION_BLOCK, left = s->T - first;
  const size_t start = head / s->H * s->T, column = head % s->H * s->head_size;
  const float *q = k->qkv + start * 3 * C + column;
  attention_forward(k->attended + (start + first) * C + column, C,
                    k->log_sum + head * s->T + first, q + first * 3 * C, 3 * C, q + C,
                    q + 2 * C, 3 * C, first, left < ATTENTION_BLOCK ? left : ATTENTION_BLOCK,
                    s->head_size, s->pass->scratch[thread]);
}

void gpt_forward(const gpt_step *s)
{
  const int threads = s->pass->shape.threads;
  const size_t last = s->pass->params->config.n_layer - 1;
  const size_t blocks = s->batch->batch * s->H * attention_blocks(s);
  gpt_layer_step c = {s, 0};
  mo_parallel(threads, s->tiles, first_tile, &c);
  for (c.layer = 0; c.layer <= last; c.layer++) {
    mo_parallel(threads, blocks, attention_item, &c);
    mo_parallel(threads, s->tiles, c.layer < last ? middle_tile : last_tile, &c);
  }
}
