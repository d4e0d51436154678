/* backward.c - from the gradient of the final norm's output down to the embedding.
 *
 * The mirror of forward.c: a tile of rows runs from behind one attention down to the next. A
 * layer again needs two parallel loops, and the weights' gradients, each a product over all
 * rows, fill the gaps in both:
 *
 *     loop 1: attention of the layer; weights of MLP and c_proj
 *     loop 2: rows of this layer's input and of the next lower layer's MLP; weights of q, k, v
 */
#include "gpt/layers/layers.h"
#include "gpt/pass.h"
#include "linalg/gemm_grid.h"

#include <string.h>

/* d_x of the layer's output -> d_middle, behind the attention, and d_norm of `attended`. */
static void mlp_rows(const gpt_step *s, size_t layer, gpt_rows rows)
{
  const gpt_pass *p = s->pass;
  const gpt_layer w = gpt_params_layer(p->params, layer);
  const gpt_activations *k = &p->kept[layer];
  const size_t C = s->C, n = rows.count, at = rows.first;
  float *d_x = p->gradient.d_x + at * C, *d_middle = p->gradient.d_middle + at * C;
  float *d_norm = p->gradient.d_norm + at * C, *d_hidden = p->gradient.d_hidden + at * 4 * C;
  linear_backward(d_hidden, d_x, w.proj->value, n, 4 * C, C);
  relu2_backward(d_hidden, k->hidden + at * 4 * C, n * 4 * C);
  linear_backward(d_norm, d_hidden, w.fc->value, n, C, 4 * C);
  rmsnorm_backward(d_middle, d_x, d_norm, k->norm2 + at * C, k->r2 + at, n, C);
  linear_backward(d_norm, d_middle, w.c_proj->value, n, C, C);
}

/* d_qkv -> d_x of the layer's input. */
static void input_rows(const gpt_step *s, size_t layer, gpt_rows rows)
{
  const gpt_pass *p = s->pass;
  const gpt_layer w = gpt_params_layer(p->params, layer);
  const gpt_activations *k = &p->kept[layer];
  const size_t C = s->C, n = rows.count, at = rows.first;
  const gpt_gradient_space *g = &p->gradient;
  linear_backward(g->d_norm + at * C, g->d_qkv + at * 3 * C, w.c_q->value, n, C, 3 * C);
  rmsnorm_backward(g->d_x + at * C, g->d_middle + at * C, g->d_norm + at * C, k->norm1 + at * C,
                   k->r1 + at, n, C);
}

static void top_tile(void *context, size_t item, int thread)
{
  (void)thread;
  const gpt_layer_step *c = context;
  const gpt_step *s = c->step;
  const gpt_pass *p = s->pass;
  const gpt_rows rows = gpt_tile(s, item);
  const size_t start = rows.first * s->C;
  memset(p->gradient.d_x + start, 0, rows.count * s->C * sizeof(float));
  rmsnorm_backward(p->gradient.d_x + start, p->gradient.d_x + start, p->gradient.d_norm + start,
                   p->final + start, p->r_final + rows.first, rows.count, s->C);
  mlp_rows(s, c->layer, rows);
}

static void lower_tile(void *context, size_t item, int thread)
{
  (void)thread;
  const gpt_layer_step *c = context;
  const gpt_rows rows = gpt_tile(c->step, item);
  input_rows(c->step, c->layer, rows);
  if (c->layer > 0) mlp_rows(c->step, c->layer - 1, rows);
}

/* Item: one head of one sequence. */
static void attention_item(void *context, size_t item, int thread)
{
  const gpt_layer_step *c = context;
  const gpt_step *s = c->step;
  const gpt_pass *p = s->pass;
  const gpt_activations *k = &p->kept[c->layer];
  const size_t C = s->C, start = item / s->H * s->T, head = item % s->H;
  const size_t column = head * s->head_size;
  const float *q = k->qkv + start * 3 * C + column, *r = k->r_qk + start * 2 * s->H + head;
  float *d_q = p->gradient.d_qkv + start * 3 * C + column;
  attention_backward(d_q, d_q + C, d_q + 2 * C, p->gradient.d_norm + start * C + column,
                     k->attended + start * C + column, C, k->log_sum + item * s->T, q, q + C,
                     q + 2 * C, 3 * C, s->T, s->head_size, p->scratch[thread]);
  rope_norm_backward(d_q, q, r, p->cosines, p->sines, s->T, s->head_size, 3 * C, 2 * s->H);
  rope_norm_backward(d_q + C, q + C, r + s->H, p->cosines, p->sines, s->T, s->head_size, 3 * C,
                     2 * s->H);
}

/* d_W = d_y^T x over all rows, for `outputs` rows of weights that start at w. */
static mo_product weight_gradient(const gpt_step *s, const gpt_tensor *w, const float *d_y,
                                  size_t outputs, const float *x)
{
  return mo_dense_product(MO_TRANSPOSED, MO_PLAIN, outputs, w->cols, s->N, d_y, x, s->beta,
                          w->gradient);
}

static void attention_and_weights(gpt_layer_step *c)
{
  const gpt_step *s = c->step;
  const gpt_layer w = gpt_params_layer(s->pass->params, c->layer);
  const gpt_activations *k = &s->pass->kept[c->layer];
  const gpt_gradient_space *g = &s->pass->gradient;
  mo_product proj = weight_gradient(s, w.proj, g->d_x, s->C, k->hidden);
  mo_product fc = weight_gradient(s, w.fc, g->d_hidden, 4 * s->C, k->norm2);
  mo_product c_proj = weight_gradient(s, w.c_proj, g->d_middle, s->C, k->attended);
  const mo_task tasks[] = {{s->batch->batch * s->H, attention_item, c},
                           mo_product_plan(&proj),
                           mo_product_plan(&fc),
                           mo_product_plan(&c_proj)};
  mo_parallel_tasks(s->pass->shape.threads, tasks, sizeof tasks / sizeof *tasks);
}

static void rows_and_weights(gpt_layer_step *c)
{
  const gpt_step *s = c->step;
  const gpt_layer w = gpt_params_layer(s->pass->params, c->layer);
  mo_product qkv = weight_gradient(s, w.c_q, s->pass->gradient.d_qkv, 3 * s->C,
                                   s->pass->kept[c->layer].norm1);
  const mo_task tasks[] = {{s->tiles, lower_tile, c}, mo_product_plan(&qkv)};
  mo_parallel_tasks(s->pass->shape.threads, tasks, sizeof tasks / sizeof *tasks);
}

enum { EMBEDDING_COLUMNS = 64 };

static void embedding_columns(void *context, size_t item, int thread)
{
  (void)thread;
  const gpt_step *s = ((const gpt_layer_step *)context)->step;
  const size_t first = item * EMBEDDING_COLUMNS, end = first + EMBEDDING_COLUMNS;
  embedding_backward(gpt_params_wte(s->pass->params)->gradient, s->pass->gradient.d_x,
                     s->batch->tokens, s->N, s->C, first, end < s->C ? end : s->C);
}

void gpt_backward(const gpt_step *s)
{
  const int threads = s->pass->shape.threads;
  const size_t layers = s->pass->params->config.n_layer;
  gpt_layer_step c = {s, layers - 1};
  mo_parallel(threads, s->tiles, top_tile, &c);
  for (;; c.layer--) {
    attention_and_weights(&c);
    rows_and_weights(&c);
    gpt_tell_complete(s->pass, layers - c.layer);
    if (c.layer == 0) break;
  }
  const gpt_tensor *wte = gpt_params_wte(s->pass->params);
  if (s->beta == 0.0f) memset(wte->gradient, 0, wte->rows * wte->cols * sizeof(float));
  mo_parallel(threads, (s->C + EMBEDDING_COLUMNS - 1) / EMBEDDING_COLUMNS, embedding_columns,
              &c);
  gpt_tell_complete(s->pass, layers + 1);
}
