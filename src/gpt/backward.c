/* backward.c - from the gradient of the final norm's output down to the embedding.
 *
 * The mirror of forward.c: a tile of rows runs from behind one attention down to the next. A
 * layer again needs two parallel loops, and the weights' gradients, each a product over all
 * rows, fill the gaps in both:
 *
 *     loop 1: attention of the layer; weights of MLP and c_proj
 *     loop 2: rows of this layer's input and of the next lower layer's MLP; weights of q, k, v
 *
 * With recompute the lower layer's activations are computed again between the two.
 *
 * Gains and biases: each tile writes its sums over its own rows, and these are added up in the
 * order of the tiles when the loop is done.
 */
#include "gpt/adapters.h"
#include "gpt/covariance.h"
#include "gpt/layers/layers.h"
#include "gpt/pass.h"
#include "linalg/gemm_grid.h"

#include <math.h>
#include <string.h>

/* Where a tile's sum for a gain or bias goes: in the order of the layer's vectors. NULL when the model does not have it. */
static float *tile_sum(const gpt_step *s, const gpt_layer *w, const gpt_tensor *vector,
                       gpt_rows rows)
{
  if (vector == NULL) return NULL;
  const size_t tile = rows.first / s->tile_rows;
  const float *first = gpt_first_vector(w)->value;
  return s->pass->gradient.vectors + tile * s->pass->vector_count + (vector->value - first);
}

/* What flows back through the adapters of a product: d_low of these rows, and into d_x. */
static void adapt_backward(const gpt_step *s, gpt_adapted of, float *d_x, const float *d_y,
                           size_t d_y_stride, gpt_rows rows)
{
  if (s->pass->gradient.d_low == NULL) return;
  float *d_low = s->pass->gradient.d_low + rows.first * s->config->lora_rank;
  gpt_adapt_backward_low(s->config, of, d_low, s->N, d_y, d_y_stride, rows.count);
  gpt_adapt_backward(s->config, of, d_x, d_low, s->N, rows.count);
}

/* d_x of the layer's output -> d_middle, behind the attention, and d_attended. */
static void mlp_rows(const gpt_step *s, size_t layer, gpt_rows rows)
{
  const gpt_pass *p = s->pass;
  const gpt_layer w = gpt_params_layer(p->params, layer);
  const gpt_activations *k = &p->kept[layer];
  const gpt_gradient_space *g = &p->gradient;
  const size_t C = s->C, n = rows.count, at = rows.first;
  float *d_x = g->d_x + at * C, *d_middle = g->d_middle + at * C, *d_norm = g->d_norm + at * C;
  float *d_hidden = g->d_hidden + at * s->F, *d_active = g->d_active + at * s->W;
  float *hidden = k->hidden + at * s->F, *norm = k->norm2 + at * C;
  gpt_lap lap = gpt_lap_start(p->profile);
  bias_backward(tile_sum(s, &w, w.proj_bias, rows), d_x, n, C);
  linear_backward(d_active, d_x, w.proj->value, n, s->W, C);
  adapt_backward(s, gpt_adapted_one(w.proj), d_active, d_x, C, rows);
  gpt_lap_end(&lap, GPT_PROFILE_LINEAR_BACKWARD);
  gpt_mlp_backward(s->config, d_hidden, k->active + at * s->W, d_active, hidden, n);
  gpt_lap_end(&lap, GPT_PROFILE_MLP);
  bias_backward(tile_sum(s, &w, gpt_hidden_bias(&w), rows), d_hidden, n, s->F);
  linear_backward(d_norm, d_hidden, gpt_hidden_matrix(&w)->value, n, C, s->F);
  adapt_backward(s, gpt_adapted_hidden(&w), d_norm, d_hidden, s->F, rows);
  gpt_lap_end(&lap, GPT_PROFILE_LINEAR_BACKWARD);
  if (k->input2 != k->norm2)
    gain_forward(k->input2 + at * C, norm, w.ln2_gain->value, gpt_value(w.ln2_bias), n, C);
  gpt_norm_backward(s->config, gpt_norm2(&w), d_middle, d_x, d_norm,
                    tile_sum(s, &w, w.ln2_gain, rows), tile_sum(s, &w, w.ln2_bias, rows), norm,
                    k->r2 + at, n);
  gpt_lap_end(&lap, GPT_PROFILE_NORM);
  bias_backward(tile_sum(s, &w, w.c_proj_bias, rows), d_middle, n, C);
  linear_backward(g->d_attended + at * s->A, d_middle, w.c_proj->value, n, s->A, C);
  adapt_backward(s, gpt_adapted_one(w.c_proj), g->d_attended + at * s->A, d_middle, C, rows);
  gpt_lap_end(&lap, GPT_PROFILE_LINEAR_BACKWARD);
}

/* d_qkv -> d_x of the layer's input. */
static void input_rows(const gpt_step *s, size_t layer, gpt_rows rows)
{
  const gpt_pass *p = s->pass;
  const gpt_layer w = gpt_params_layer(p->params, layer);
  const gpt_activations *k = &p->kept[layer];
  const size_t C = s->C, n = rows.count, at = rows.first;
  const gpt_gradient_space *g = &p->gradient;
  gpt_lap lap = gpt_lap_start(p->profile);
  bias_backward(tile_sum(s, &w, w.q_bias, rows), g->d_qkv + at * s->S, n, s->S);
  linear_backward(g->d_norm + at * C, g->d_qkv + at * s->S, w.c_q->value, n, C, s->S);
  if (g->d_low != NULL)
    gpt_adapt_backward(s->config, gpt_adapted_qkv(&w), g->d_norm + at * C,
                       g->d_low + at * s->config->lora_rank, s->N, n);
  gpt_lap_end(&lap, GPT_PROFILE_LINEAR_BACKWARD);
  gpt_norm_backward(s->config, gpt_norm1(&w), g->d_x + at * C, g->d_middle + at * C,
                    g->d_norm + at * C, tile_sum(s, &w, w.ln1_gain, rows),
                    tile_sum(s, &w, w.ln1_bias, rows), k->norm1 + at * C, k->r1 + at, n);
  gpt_lap_end(&lap, GPT_PROFILE_NORM);
}

static void top_tile(void *context, size_t item, int thread)
{
  (void)thread;
  const gpt_layer_step *c = context;
  const gpt_step *s = c->step;
  const gpt_pass *p = s->pass;
  const gpt_rows rows = gpt_tile(s, item);
  const size_t start = rows.first * s->C;
  float *sums = p->gradient.final_vectors;
  gpt_lap lap = gpt_lap_start(p->profile);
  if (sums != NULL) sums += item * 2 * s->C;
  memset(p->gradient.d_x + start, 0, rows.count * s->C * sizeof(float));
  gpt_norm_backward(s->config, gpt_final_norm(p->params), p->gradient.d_x + start,
                    p->gradient.d_x + start, p->gradient.d_norm + start, sums,
                    p->params->parts->ln_f_bias != NULL ? sums + s->C : NULL,
                    p->normal_final + start, p->r_final + rows.first, rows.count);
  gpt_lap_end(&lap, GPT_PROFILE_NORM);
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

/* Item: one head of k and v of one sequence, with the heads of q that share it. */
static void attention_item(void *context, size_t item, int thread)
{
  const gpt_layer_step *c = context;
  const gpt_step *s = c->step;
  const gpt_pass *p = s->pass;
  const gpt_layer w = gpt_params_layer(p->params, c->layer);
  const gpt_activations *k = &p->kept[c->layer];
  const size_t S = s->S, A = s->A, D = s->D, group = s->H / s->K, sequence = item / s->K;
  const size_t start = sequence * s->T, shared = item % s->K, key = s->H + shared;
  const float *row = k->qkv + start * S, *keys = row + key * D, *values = keys + s->K * D;
  const float *r = k->r_qk + start * (s->H + s->K);
  const float *normal = k->normal_qk != NULL ? k->normal_qk + start * (s->H + s->K) * D : NULL;
  float *d_row = p->gradient.d_qkv + start * S, *d_keys = d_row + key * D;
  float *sums = p->gradient.qk_gains != NULL ? p->gradient.qk_gains + item * 2 * D : NULL;
  gpt_head_gradient one = {
      .d_gain = sums, .gain = gpt_value(w.q_gain), .cosines = p->cosines, .sines = p->sines};
  gpt_lap lap = gpt_lap_start(p->profile);
  if (sums != NULL) memset(sums, 0, 2 * D * sizeof *sums);
  for (size_t head = shared * group; head < (shared + 1) * group; head++) {
    attention_backward(
        d_row + head * D, d_keys, d_keys + s->K * D,
        p->gradient.d_attended + start * A + head * D, k->attended + start * A + head * D, A,
        k->log_sum + (sequence * s->H + head) * s->T, row + head * D, keys, values, S, s->T, D,
        head > shared * group, gpt_starts(s, start), p->scratch[thread]);
    gpt_lap_end(&lap, GPT_PROFILE_ATTENTION_BACKWARD);
    one.d = d_row + head * D, one.y = row + head * D, one.r = r + head;
    one.normal = normal != NULL ? normal + head * D : NULL;
    gpt_head_backward(s->config, &one, s->T);
    gpt_lap_end(&lap, GPT_PROFILE_ROTATION);
  }
  one.d = d_keys, one.y = keys, one.r = r + key, one.gain = gpt_value(w.k_gain);
  one.normal = normal != NULL ? normal + key * D : NULL;
  one.d_gain = sums != NULL ? sums + D : NULL;
  gpt_head_backward(s->config, &one, s->T);
  gpt_lap_end(&lap, GPT_PROFILE_ROTATION);
}

/* The input of q, k and v once more, for their weights' gradient. */
static void input_tile(void *context, size_t item, int thread)
{
  (void)thread;
  const gpt_layer_step *c = context;
  const gpt_layer w = gpt_params_layer(c->step->pass->params, c->layer);
  const gpt_activations *k = &c->step->pass->kept[c->layer];
  const gpt_rows rows = gpt_tile(c->step, item);
  const size_t start = rows.first * c->step->C;
  gain_forward(k->input1 + start, k->norm1 + start, w.ln1_gain->value, gpt_value(w.ln1_bias),
               rows.count, c->step->C);
}

/* d_W = d_y^T x over all rows, for `outputs` rows of weights that start at w. */
static mo_product weight_gradient(const gpt_step *s, const gpt_tensor *w, const float *d_y,
                                  size_t outputs, const float *x)
{
  return mo_dense_product(MO_TRANSPOSED, MO_PLAIN, outputs, w->cols, s->N, d_y, x, s->beta,
                          w->gradient);
}

/* Nothing to do when all of the product's tensors are frozen. */
static mo_task weight_task(mo_product *product, bool frozen)
{
  mo_task task = mo_product_plan(product);
  if (frozen) task.count = 0;
  return task;
}

enum { MOST_TASKS = 6 + 2 * GPT_MOST_ADAPTED };

/* The tasks, and behind them the gradients of adapters. All are about weights but the one at
 * `rows`, which measures itself. */
static void run_with(const gpt_step *s, mo_task *tasks, size_t count, size_t rows,
                     gpt_adapter_work *adapters)
{
  gpt_timed_task timed[MOST_TASKS];
  for (size_t i = 0; i < adapters->count; i++)
    tasks[count + i] = mo_product_plan(&adapters->products[i]);
  for (size_t i = 0; i < count + adapters->count; i++)
    if (i != rows)
      tasks[i] =
          gpt_time_task(s->pass->profile, &timed[i], tasks[i], GPT_PROFILE_LINEAR_WEIGHTS);
  mo_parallel_tasks(s->pass->shape.threads, tasks, count + adapters->count);
}

/* d_low of q, k and v, which their weights need before all rows have passed. */
static void low_tile(void *context, size_t item, int thread)
{
  (void)thread;
  const gpt_layer_step *c = context;
  const gpt_step *s = c->step;
  const gpt_layer w = gpt_params_layer(s->pass->params, c->layer);
  const gpt_rows rows = gpt_tile(s, item);
  gpt_adapt_backward_low(s->config, gpt_adapted_qkv(&w),
                         s->pass->gradient.d_low + rows.first * s->config->lora_rank, s->N,
                         s->pass->gradient.d_qkv + rows.first * s->S, s->S, rows.count);
}

static double tile_operations(const mo_product *p)
{
  return 2.0 * (double)p->tile_rows * (double)p->tile_cols * (double)p->inner;
}

/* Whether an item of the attention takes longer than a tile of the product: long ones go first, so
 * that no thread is left with one at the end. */
static bool attention_is_longer(const gpt_step *s, const mo_product *product)
{
  const double group = (double)s->H / (double)s->K, T = (double)s->T;
  const double attention = 5.0 * T * T * (double)s->D * group; /* five products, half of each */
  return attention > tile_operations(product);
}

static void attention_and_weights(gpt_layer_step *c)
{
  const gpt_step *s = c->step;
  const gpt_layer w = gpt_params_layer(s->pass->params, c->layer);
  const gpt_activations *k = &s->pass->kept[c->layer];
  const gpt_gradient_space *g = &s->pass->gradient;
  mo_product proj = weight_gradient(s, w.proj, g->d_x, s->C, k->active);
  mo_product fc = weight_gradient(s, gpt_hidden_matrix(&w), g->d_hidden, s->F, k->input2);
  mo_product c_proj = weight_gradient(s, w.c_proj, g->d_middle, s->C, k->attended);
  gpt_samples samples;
  gpt_adapter_work adapters = {.count = 0};
  const mo_task weights[] = {weight_task(&proj, w.proj->frozen),
                             weight_task(&fc, gpt_hidden_frozen(&w)),
                             weight_task(&c_proj, w.c_proj->frozen)};
  const mo_task attention = {s->batch->batch * s->K, attention_item, c, "attention"};
  const size_t place = attention_is_longer(s, &fc) ? 0 : 3;
  mo_task tasks[MOST_TASKS];
  tasks[place] = attention;
  memcpy(tasks + (place == 0 ? 1 : 0), weights, sizeof weights);
  tasks[4] = (mo_task){k->input1 != k->norm1 ? s->tiles : 0, input_tile, c, "input"};
  tasks[5] = gpt_sample_upper(s, c->layer, &samples);
  gpt_adapter_products(s, c->layer, gpt_adapted_one(w.proj), g->d_x, s->C, k->active,
                       &adapters);
  gpt_adapter_products(s, c->layer, gpt_adapted_hidden(&w), g->d_hidden, s->F, k->input2,
                       &adapters);
  gpt_adapter_products(s, c->layer, gpt_adapted_one(w.c_proj), g->d_middle, s->C, k->attended,
                       &adapters);
  run_with(s, tasks, 6, place, &adapters);
}

/* Operations of a row's products: down to the input of this layer and on to the attention below. */
static double row_operations(const gpt_step *s)
{
  return 2.0 * (double)s->C * (double)(s->S + s->F + s->W + s->A);
}

/* Of the tiles behind all rows, of which the last threads to be free take one more: at most a
 * hundredth of the rows, and not less than a third of a tile of them. */
static double longest_behind_rows(const gpt_step *s)
{
  return row_operations(s) * fmax((double)s->N / 96, (double)s->tile_rows / 3);
}

static void rows_and_weights(gpt_layer_step *c)
{
  const gpt_step *s = c->step;
  const gpt_layer w = gpt_params_layer(s->pass->params, c->layer);
  mo_product qkv =
      weight_gradient(s, w.c_q, s->pass->gradient.d_qkv, s->S, s->pass->kept[c->layer].input1);
  qkv.longest = longest_behind_rows(s);
  gpt_samples samples;
  gpt_adapter_work adapters = {.count = 0};
  const mo_task weights = weight_task(&qkv, gpt_qkv_frozen(&w));
  const double tile = row_operations(s) * (double)s->tile_rows;
  const size_t place = tile < tile_operations(&qkv); /* the longer ones first */
  mo_task tasks[MOST_TASKS];
  tasks[place] = (mo_task){s->tiles, lower_tile, c, "rows"};
  tasks[1 - place] = weights;
  tasks[2] = gpt_sample_lower(s, c->layer, &samples);
  if (s->pass->gradient.d_low != NULL)
    mo_parallel(s->pass->shape.threads, s->tiles, low_tile, c);
  gpt_adapter_products(s, c->layer, gpt_adapted_qkv(&w), s->pass->gradient.d_qkv, s->S,
                       s->pass->kept[c->layer].input1, &adapters);
  run_with(s, tasks, 3, place, &adapters);
}

/* gradient = beta gradient + the sum of `count` rows of sums, `stride` apart. */
static void add_sums(const gpt_step *s, float *gradient, const float *sums, size_t count,
                     size_t stride, size_t width)
{
  for (size_t j = 0; j < width; j++) {
    float sum = sums[j];
    for (size_t i = 1; i < count; i++) sum += sums[i * stride + j];
    gradient[j] = s->beta > 0 ? gradient[j] + sum : sum;
  }
}

/* The tiles' sums of a layer's vectors: those before the attention, or those behind it. */
static void add_vectors(const gpt_step *s, size_t layer, bool input)
{
  const gpt_layer w = gpt_params_layer(s->pass->params, layer);
  const gpt_tensor *first = gpt_first_vector(&w);
  const size_t all = s->pass->vector_count, split = gpt_input_vectors(s->config);
  const size_t from = input ? 0 : split, width = input ? split : all - split;
  if (width > 0 && first->gradient != NULL)
    add_sums(s, first->gradient + from, s->pass->gradient.vectors + from, s->tiles, all, width);
}

static void add_qk_gains(const gpt_step *s, size_t layer)
{
  const gpt_layer w = gpt_params_layer(s->pass->params, layer);
  const float *sums = s->pass->gradient.qk_gains;
  const size_t heads = s->batch->batch * s->K, D = s->D;
  if (sums == NULL) return;
  if (w.q_gain->gradient != NULL) add_sums(s, w.q_gain->gradient, sums, heads, 2 * D, D);
  if (w.k_gain->gradient != NULL) add_sums(s, w.k_gain->gradient, sums + D, heads, 2 * D, D);
}

static void clear(const gpt_tensor *tensor)
{
  if (tensor != NULL && tensor->gradient != NULL)
    memset(tensor->gradient, 0, tensor->rows * tensor->cols * sizeof(float));
}

static void add_final_vectors(const gpt_step *s)
{
  if (!gpt_has_final_vectors(s->pass)) return;
  const gpt_model_tensors *w = s->pass->params->parts;
  const float *sums = s->pass->gradient.final_vectors;
  if (!w->ln_f_gain->frozen)
    add_sums(s, w->ln_f_gain->gradient, sums, s->tiles, 2 * s->C, s->C);
  if (w->ln_f_bias != NULL && !w->ln_f_bias->frozen)
    add_sums(s, w->ln_f_bias->gradient, sums + s->C, s->tiles, 2 * s->C, s->C);
  gpt_tell_complete(s->pass);
}

/* Frozen ones that were computed along with their neighbours. */
static void clear_frozen(const gpt_step *s, size_t first, size_t end)
{
  for (size_t i = first; i < end; i++)
    if (s->pass->params->tensors[i].frozen) clear(&s->pass->params->tensors[i]);
}

static void clear_frozen_layer(const gpt_step *s, size_t layer)
{
  const gpt_model_tensors *parts = s->pass->params->parts;
  const size_t first = parts->first_layered + layer * parts->per_layer;
  clear_frozen(s, first, first + parts->per_layer);
}

/* The layer below, before its rows are needed; the set of activations that it goes to was that of
 * the layer above. */
static void compute_again(const gpt_step *s, size_t layer)
{
  if (layer > 0 && s->pass->inputs != NULL && s->pass->inputs[layer - 1] != NULL)
    gpt_forward_again(s, layer - 1);
}

void gpt_backward(const gpt_step *s)
{
  gpt_layer_step c = {s, s->config->n_layer - 1};
  mo_parallel(s->pass->shape.threads, s->tiles, top_tile, &c);
  add_final_vectors(s);
  for (;; c.layer--) {
    add_vectors(s, c.layer, false);
    attention_and_weights(&c);
    add_qk_gains(s, c.layer);
    compute_again(s, c.layer);
    rows_and_weights(&c);
    add_vectors(s, c.layer, true);
    clear_frozen_layer(s, c.layer);
    gpt_tell_complete(s->pass);
    if (c.layer == 0) break;
  }
  gpt_embedding_backward(s);
}
