/* forward.c - tokens to the normalised output of the last layer.
 *
 *     x = wte[token] (+ wpe[position])
 *     per layer:  x += c_proj attention(q, k, v of norm(x));   x += proj active(fc norm(x))
 *     final = norm(x)
 *
 * Everything but attention works on single rows. A tile of rows therefore runs from behind one
 * attention up to the next in one go, and a layer needs two parallel loops.
 */
#include "base/parallel.h"
#include "gpt/adapters.h"
#include "gpt/layers/layers.h"
#include "gpt/pass.h"

#include <string.h>

/* What the adapters of a product's matrices add to it. */
static void adapt(const gpt_step *s, size_t layer, gpt_adapted of, float *y, size_t y_stride,
                  const float *x, gpt_rows rows)
{
  float *low = s->pass->kept[layer].low;
  if (low != NULL)
    gpt_adapt_forward(s->config, of, y, y_stride, low + rows.first * s->config->lora_rank, s->N,
                      x, rows.count);
}

static void before_attention(const gpt_step *s, size_t layer, gpt_rows rows)
{
  const gpt_pass *p = s->pass;
  const gpt_layer w = gpt_params_layer(p->params, layer);
  const gpt_activations *k = &p->kept[layer];
  const size_t C = s->C, n = rows.count, at = rows.first, heads = s->H + s->K;
  float *qkv = k->qkv + at * s->S, *input = k->input1 + at * C;
  float *normal = k->normal_qk != NULL ? k->normal_qk + at * heads * s->D : NULL;
  const rope_heads positions = {
      .first = at, .rows = n, .length = s->T, .cosines = p->cosines, .sines = p->sines};
  gpt_lap lap = gpt_lap_start(p->profile);
  gpt_norm_forward(s->config, gpt_norm1(&w), input, k->norm1 + at * C, k->r1 + at,
                   p->x + at * C, n);
  gpt_lap_end(&lap, GPT_PROFILE_NORM);
  linear_forward(qkv, input, w.c_q->value, n, C, s->S);
  adapt(s, layer, gpt_adapted_qkv(&w), qkv, s->S, input, rows);
  bias_forward(qkv, gpt_value(w.q_bias), n, s->S);
  gpt_lap_end(&lap, GPT_PROFILE_LINEAR_FORWARD);
  gpt_heads_forward(s->config, &w, qkv, normal, k->r_qk + at * heads, positions);
  gpt_lap_end(&lap, GPT_PROFILE_ROTATION);
}

/* Projection and MLP, but for the MLP's last product. */
static void up_to_active(const gpt_step *s, size_t layer, gpt_rows rows)
{
  const gpt_pass *p = s->pass;
  const gpt_layer w = gpt_params_layer(p->params, layer);
  const gpt_activations *k = &p->kept[layer];
  const size_t C = s->C, n = rows.count, at = rows.first;
  float *x = p->x + at * C, *hidden = k->hidden + at * s->F, *active = k->active + at * s->W;
  float *input = k->input2 + at * C;
  gpt_lap lap = gpt_lap_start(p->profile);
  linear_forward_add(x, k->attended + at * s->A, w.c_proj->value, n, s->A, C);
  adapt(s, layer, gpt_adapted_one(w.c_proj), x, C, k->attended + at * s->A, rows);
  bias_forward(x, gpt_value(w.c_proj_bias), n, C);
  gpt_lap_end(&lap, GPT_PROFILE_LINEAR_FORWARD);
  gpt_norm_forward(s->config, gpt_norm2(&w), input, k->norm2 + at * C, k->r2 + at, x, n);
  gpt_lap_end(&lap, GPT_PROFILE_NORM);
  linear_forward(hidden, input, gpt_hidden_matrix(&w)->value, n, C, s->F);
  adapt(s, layer, gpt_adapted_hidden(&w), hidden, s->F, input, rows);
  bias_forward(hidden, gpt_value(gpt_hidden_bias(&w)), n, s->F);
  gpt_lap_end(&lap, GPT_PROFILE_LINEAR_FORWARD);
  gpt_mlp_forward(s->config, active, hidden, n);
  gpt_lap_end(&lap, GPT_PROFILE_MLP);
}

static void after_attention(const gpt_step *s, size_t layer, gpt_rows rows)
{
  const gpt_layer w = gpt_params_layer(s->pass->params, layer);
  const size_t C = s->C, n = rows.count;
  float *x = s->pass->x + rows.first * C;
  const float *active = s->pass->kept[layer].active + rows.first * s->W;
  up_to_active(s, layer, rows);
  gpt_lap lap = gpt_lap_start(s->pass->profile);
  linear_forward_add(x, active, w.proj->value, n, s->W, C);
  adapt(s, layer, gpt_adapted_one(w.proj), x, C, active, rows);
  bias_forward(x, gpt_value(w.proj_bias), n, C);
  gpt_lap_end(&lap, GPT_PROFILE_LINEAR_FORWARD);
}

/* The stream before a layer, where it is computed again. */
static void keep_input(const gpt_step *s, size_t layer, gpt_rows rows)
{
  if (s->pass->inputs == NULL || s->pass->inputs[layer] == NULL) return;
  const size_t start = rows.first * s->C;
  memcpy(s->pass->inputs[layer] + start, s->pass->x + start, rows.count * s->C * sizeof(float));
}

static void first_tile(void *context, size_t item, int thread)
{
  (void)thread;
  const gpt_step *s = ((const gpt_layer_step *)context)->step;
  const gpt_rows rows = gpt_tile(s, item);
  const gpt_model_tensors *w = s->pass->params->parts;
  float *x = s->pass->x + rows.first * s->C;
  gpt_lap lap = gpt_lap_start(s->pass->profile);
  embedding_forward(x, w->wte->value, s->batch->tokens + rows.first, rows.count, s->C);
  if (w->wpe != NULL)
    position_embedding_forward(x, w->wpe->value, rows.first, rows.count, s->T, s->C);
  keep_input(s, 0, rows);
  gpt_lap_end(&lap, GPT_PROFILE_EMBEDDING);
  before_attention(s, 0, rows);
}

static void middle_tile(void *context, size_t item, int thread)
{
  (void)thread;
  const gpt_layer_step *c = context;
  const gpt_rows rows = gpt_tile(c->step, item);
  after_attention(c->step, c->layer, rows);
  keep_input(c->step, c->layer + 1, rows);
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
  gpt_lap lap = gpt_lap_start(s->pass->profile);
  gpt_norm_forward(s->config, gpt_final_norm(s->pass->params), s->pass->final + start,
                   s->pass->normal_final + start, s->pass->r_final + rows.first,
                   s->pass->x + start, rows.count);
  gpt_lap_end(&lap, GPT_PROFILE_NORM);
}

static size_t attention_blocks(const gpt_step *s)
{
  return (s->T + ATTENTION_BLOCK - 1) / ATTENTION_BLOCK;
}

/* Item: one block of queries of one head; heads of q in a row share one of k and v. The blocks of
 * a head follow each other, while its keys and values are in the cache; the last block, which
 * sees most keys, comes first. */
static void attention_item(void *context, size_t item, int thread)
{
  const gpt_layer_step *c = context;
  const gpt_step *s = c->step;
  const gpt_activations *k = &s->pass->kept[c->layer];
  const size_t S = s->S, A = s->A, D = s->D, blocks = attention_blocks(s);
  const size_t item_head = item / blocks, block = blocks - 1 - item % blocks;
  const size_t first = block * ATTENTION_BLOCK, left = s->T - first;
  const size_t start = item_head / s->H * s->T, head = item_head % s->H;
  const float *row = k->qkv + start * S, *keys = row + A + head / (s->H / s->K) * D;
  gpt_lap lap = gpt_lap_start(s->pass->profile);
  attention_forward(k->attended + (start + first) * A + head * D, A,
                    k->log_sum + item_head * s->T + first, row + first * S + head * D, S, keys,
                    keys + s->K * D, S, first, left < ATTENTION_BLOCK ? left : ATTENTION_BLOCK,
                    D, gpt_starts(s, start + first), s->pass->scratch[thread]);
  gpt_lap_end(&lap, GPT_PROFILE_ATTENTION_FORWARD);
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

static void input_again(void *context, size_t item, int thread)
{
  (void)thread;
  const gpt_layer_step *c = context;
  const gpt_step *s = c->step;
  const gpt_rows rows = gpt_tile(s, item);
  const size_t start = rows.first * s->C;
  memcpy(s->pass->x + start, s->pass->inputs[c->layer] + start,
         rows.count * s->C * sizeof(float));
  before_attention(s, c->layer, rows);
}

static void active_again(void *context, size_t item, int thread)
{
  (void)thread;
  const gpt_layer_step *c = context;
  const gpt_rows rows = gpt_tile(c->step, item);
  if (c->step->pass->kept[c->layer].low != NULL)
    after_attention(c->step, c->layer, rows); /* the adapter of the last product keeps, too */
  else
    up_to_active(c->step, c->layer, rows);
}

void gpt_forward_again(const gpt_step *s, size_t layer)
{
  const int threads = s->pass->shape.threads;
  const size_t blocks = s->batch->batch * s->H * attention_blocks(s);
  gpt_layer_step c = {s, layer};
  mo_parallel(threads, s->tiles, input_again, &c);
  mo_parallel(threads, blocks, attention_item, &c);
  mo_parallel(threads, s->tiles, active_again, &c);
}
