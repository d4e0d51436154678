/* generate.c - text token by token, with a cache of keys and values.
 *
 * The layers are those of forward.c on a few rows at a time: keys and values of earlier tokens
 * come from the cache, and only the last row's logits are computed. A prompt goes in blocks of as
 * many rows as a tile of training has. One new token reads every weight once, so its products go
 * by output rows over the threads instead of by tokens.
 */
#include "base/parallel.h"
#include "base/random.h"
#include "gpt/adapters.h"
#include "gpt/choice.h"
#include "gpt/q8.h"
#include "gpt/sample.h"
#include "linalg/blas.h"
#include "linalg/gemm_grid.h"

#include <string.h>

enum { LARGEST_ROWS = 256 };

struct gpt_generator {
  const gpt_params *params; /* borrowed */
  const gpt_q8 *q8;         /* borrowed; NULL: none */
  size_t capacity, length;  /* tokens that fit; tokens so far */
  size_t rows;              /* of a prompt that are worked on at a time */
  int threads;
  float *keys, *values;    /* n_layer x capacity x K D, sizes as in pass.h */
  float *x, *norm, *input; /* rows x C; norm and input are one without a gain */
  float *attended;         /* rows x A */
  float *r, *normal_qk;    /* what only training needs again */
  float *qkv;              /* rows x S */
  float *hidden, *active;  /* rows x F, x W; one with relu2 */
  float *low;              /* slots x rows x rank: inside the adapters; NULL without */
  float *cosines, *sines, *logits;
  gpt_candidate *candidates; /* 2 V */
  float **scratch;           /* one block per thread, for attention */
  mo_arena arena;
};

static size_t cached_width(const gpt_config *c)
{
  return c->n_kv_head * c->head_size;
}

/* c is resolved. */
static void lay_out(mo_arena *arena, gpt_generator *g, const gpt_config *c)
{
  const size_t C = c->n_embd, heads = c->n_head + c->n_kv_head;
  const size_t rows = g->capacity < LARGEST_ROWS ? g->capacity : LARGEST_ROWS;
  g->rows = rows;
  g->keys = mo_arena_floats(arena, c->n_layer * g->capacity * cached_width(c));
  g->values = mo_arena_floats(arena, c->n_layer * g->capacity * cached_width(c));
  g->x = mo_arena_floats(arena, rows * C);
  g->norm = mo_arena_floats(arena, rows * C);
  g->input = c->norm == GPT_RMS ? g->norm : mo_arena_floats(arena, rows * C);
  g->attended = mo_arena_floats(arena, rows * c->n_head * c->head_size);
  g->r = mo_arena_floats(arena, rows * heads);
  if (c->qk_norm == GPT_QK_GAIN)
    g->normal_qk = mo_arena_floats(arena, rows * heads * c->head_size);
  g->qkv = mo_arena_floats(arena, rows * gpt_qkv_width(c));
  g->hidden = mo_arena_floats(arena, rows * gpt_hidden_width(c));
  g->active = gpt_keeps_hidden(c) ? mo_arena_floats(arena, rows * c->mlp_width) : g->hidden;
  if (c->lora_rank > 0)
    g->low = mo_arena_floats(arena, gpt_count_tensors(c).slots * rows * c->lora_rank);
  g->cosines = mo_arena_floats(arena, gpt_angles(c, g->capacity));
  g->sines = mo_arena_floats(arena, gpt_angles(c, g->capacity));
  g->logits = mo_arena_floats(arena, c->vocab_size);
  g->candidates = mo_arena_take(arena, 2 * c->vocab_size, sizeof *g->candidates);
  g->scratch = mo_arena_take(arena, (size_t)g->threads, sizeof *g->scratch);
  for (int thread = 0; thread < g->threads; thread++) {
    float *block = mo_arena_floats(arena, attention_scratch(g->capacity));
    if (g->scratch != NULL) g->scratch[thread] = block;
  }
}

size_t gpt_generator_bytes(const gpt_config *config, size_t capacity, int threads)
{
  gpt_generator measured = {.capacity = capacity,
                            .threads = threads > 0 ? threads : mo_threads_available()};
  mo_arena arena = mo_arena_start(NULL);
  const gpt_config c = gpt_config_resolved(config);
  lay_out(&arena, &measured, &c);
  return arena.overflow ? 0 : arena.used + MO_ALIGNMENT + sizeof measured;
}

mousse_status gpt_generator_create(gpt_generator **out, const gpt_params *params,
                                   size_t capacity, int threads, const mo_allocator *allocator,
                                   mo_error *error)
{
  *out = NULL;
  const gpt_config *config = &params->config;
  if (capacity < 1 || capacity > config->sequence_len)
    return mo_fail(error, MOUSSE_OUT_OF_RANGE,
                   "a text of %zu tokens, expected 1 to the model's sequence_len %zu", capacity,
                   config->sequence_len);
  gpt_generator *g = mo_allocate(allocator, sizeof *g);
  if (g == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for a generator");
  g->params = params;
  g->capacity = capacity;
  g->threads = threads > 0 ? threads : mo_threads_available();
  g->arena = mo_arena_start(allocator);
  lay_out(&g->arena, g, config);
  if (!mo_arena_commit(&g->arena) || !mo_blas_fits_memory(g->threads)) {
    mo_arena_release(&g->arena);
    mo_release(allocator, g, sizeof *g);
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory to generate %zu tokens: %zu bytes",
                   capacity, gpt_generator_bytes(config, capacity, threads));
  }
  lay_out(&g->arena, g, config);
  gpt_position_tables(config, g->cosines, g->sines, capacity);
  *out = g;
  return MOUSSE_OK;
}

void gpt_generator_destroy(gpt_generator *g)
{
  if (g == NULL) return;
  const mo_allocator *allocator = g->arena.allocator;
  mo_arena_release(&g->arena);
  mo_release(allocator, g, sizeof *g);
}

void gpt_generator_use_q8(gpt_generator *g, const gpt_q8 *q8)
{
  g->q8 = q8;
}

void gpt_generator_restart(gpt_generator *g)
{
  g->length = 0;
}

typedef struct vector_product {
  float *y;
  const float *x, *weight;
  gpt_q8_matrix q8; /* instead of weight, when it has blocks */
  size_t inputs, outputs, tile;
  int add;
} vector_product;

enum { TILE_NUMBERS = 1 << 14 };

static void vector_item(void *context, size_t item, int thread)
{
  (void)thread;
  const vector_product *p = context;
  const size_t first = item * p->tile, left = p->outputs - first;
  const size_t end = first + (left < p->tile ? left : p->tile);
  if (p->q8.blocks != NULL)
    linear_vector_q8(p->y, p->x, p->q8.blocks, p->q8.scales, p->inputs, first, end, p->add);
  else
    linear_vector(p->y, p->x, p->weight, p->inputs, first, end, p->add);
}

/* Tiles of a few thousand numbers: many for each thread, so that none waits long at the end. */
static void linear_one(const gpt_generator *g, float *y, const float *x, const gpt_tensor *w,
                       size_t outputs, int add)
{
  const size_t tile = w->cols < TILE_NUMBERS ? TILE_NUMBERS / w->cols : 1;
  vector_product p = {y, x, w->value, gpt_q8_find(g->q8, w), w->cols, outputs, tile, add};
  mo_parallel(g->threads, (outputs + tile - 1) / tile, vector_item, &p);
}

/* y (+)= x weight^T on all threads, by tiles of outputs. */
static void linear(const gpt_generator *g, float *y, const float *x, const gpt_tensor *w,
                   size_t outputs, size_t rows, int add)
{
  if (rows == 1) {
    linear_one(g, y, x, w, outputs, add);
    return;
  }
  mo_product p = mo_dense_product(MO_PLAIN, MO_TRANSPOSED, rows, outputs, w->cols, x, w->value,
                                  add ? 1.0f : 0.0f, y);
  const mo_task job = mo_product_plan(&p);
  mo_parallel_tasks(g->threads, &job, 1);
}

/* While a model is trained its adapters are still beside it; otherwise they are merged. */
static void adapt(const gpt_generator *g, gpt_adapted of, float *y, size_t y_stride,
                  const float *x, size_t rows)
{
  if (g->low != NULL)
    gpt_adapt_forward(&g->params->config, of, y, y_stride, g->low, g->rows, x, rows);
}

typedef struct head_context {
  const gpt_generator *generator;
  const float *keys, *values; /* of the layer */
  size_t rows;
} head_context;

/* Item: one block of queries of one head. */
static void head_item(void *context, size_t item, int thread)
{
  const head_context *c = context;
  const gpt_generator *g = c->generator;
  const gpt_config *config = &g->params->config;
  const size_t D = config->head_size, cached = cached_width(config);
  const size_t head = item % config->n_head, first = item / config->n_head * ATTENTION_BLOCK;
  const size_t width = config->n_head * D, left = c->rows - first,
               stride = gpt_qkv_width(config);
  const size_t column = head * D, shared = head / (config->n_head / config->n_kv_head) * D;
  attention_forward(
      g->attended + first * width + column, width, NULL, g->qkv + first * stride + column,
      stride, c->keys + shared, c->values + shared, cached, g->length + first,
      left < ATTENTION_BLOCK ? left : ATTENTION_BLOCK, D, NULL, g->scratch[thread]);
}

static void remember(const gpt_generator *g, float *keys, float *values, size_t rows)
{
  const gpt_config *c = &g->params->config;
  const size_t cached = cached_width(c), width = gpt_qkv_width(c);
  for (size_t i = 0; i < rows; i++) {
    const float *row = g->qkv + i * width + c->n_head * c->head_size;
    memcpy(keys + (g->length + i) * cached, row, cached * sizeof *keys);
    memcpy(values + (g->length + i) * cached, row + cached, cached * sizeof *values);
  }
}

static void run_attention(const gpt_generator *g, size_t layer, size_t rows)
{
  const gpt_config *c = &g->params->config;
  const gpt_layer w = gpt_params_layer(g->params, layer);
  float *keys = g->keys + layer * g->capacity * cached_width(c);
  float *values = g->values + layer * g->capacity * cached_width(c);
  head_context heads = {g, keys, values, rows};
  const rope_heads positions = {.first = g->length,
                                .rows = rows,
                                .length = g->capacity,
                                .cosines = g->cosines,
                                .sines = g->sines};
  gpt_norm_forward(c, (gpt_norm_tensors){w.ln1_gain, w.ln1_bias}, g->input, g->norm, g->r, g->x,
                   rows);
  linear(g, g->qkv, g->input, w.c_q, gpt_qkv_width(c), rows, 0);
  adapt(g, gpt_adapted_qkv(&w), g->qkv, gpt_qkv_width(c), g->input, rows);
  bias_forward(g->qkv, gpt_value(w.q_bias), rows, gpt_qkv_width(c));
  gpt_heads_forward(c, &w, g->qkv, g->normal_qk, g->r, positions);
  remember(g, keys, values, rows);
  const size_t blocks = (rows + ATTENTION_BLOCK - 1) / ATTENTION_BLOCK;
  mo_parallel(g->threads, c->n_head * blocks, head_item, &heads);
  linear(g, g->x, g->attended, w.c_proj, c->n_embd, rows, 1);
  adapt(g, gpt_adapted_one(w.c_proj), g->x, c->n_embd, g->attended, rows);
  bias_forward(g->x, gpt_value(w.c_proj_bias), rows, c->n_embd);
}

static void run_mlp(const gpt_generator *g, size_t layer, size_t rows)
{
  const gpt_config *c = &g->params->config;
  const gpt_layer w = gpt_params_layer(g->params, layer);
  gpt_norm_forward(c, (gpt_norm_tensors){w.ln2_gain, w.ln2_bias}, g->input, g->norm, g->r, g->x,
                   rows);
  linear(g, g->hidden, g->input, gpt_hidden_matrix(&w), gpt_hidden_width(c), rows, 0);
  adapt(g, gpt_adapted_hidden(&w), g->hidden, gpt_hidden_width(c), g->input, rows);
  bias_forward(g->hidden, gpt_value(gpt_hidden_bias(&w)), rows, gpt_hidden_width(c));
  gpt_mlp_forward(c, g->active, g->hidden, rows);
  linear(g, g->x, g->active, w.proj, c->n_embd, rows, 1);
  adapt(g, gpt_adapted_one(w.proj), g->x, c->n_embd, g->active, rows);
  bias_forward(g->x, gpt_value(w.proj_bias), rows, c->n_embd);
}

static void run_block(gpt_generator *g, const uint32_t *tokens, size_t rows)
{
  const gpt_config *c = &g->params->config;
  const gpt_model_tensors *w = g->params->parts;
  embedding_forward(g->x, w->wte->value, tokens, rows, c->n_embd);
  if (w->wpe != NULL)
    position_embedding_forward(g->x, w->wpe->value, g->length, rows, g->capacity, c->n_embd);
  for (size_t layer = 0; layer < c->n_layer; layer++) {
    run_attention(g, layer, rows);
    run_mlp(g, layer, rows);
  }
  g->length += rows;
}

/* The logits behind the last of `rows` tokens. */
static void run_head(gpt_generator *g, size_t rows)
{
  const gpt_config *c = &g->params->config;
  const gpt_model_tensors *w = g->params->parts;
  gpt_norm_forward(c, (gpt_norm_tensors){w->ln_f_gain, w->ln_f_bias}, g->input, g->norm, g->r,
                   g->x + (rows - 1) * c->n_embd, 1);
  linear(g, g->logits, g->input, gpt_params_head(g->params), c->vocab_size, 1, 0);
}

mousse_status gpt_generator_feed(gpt_generator *g, const uint32_t *tokens, size_t count,
                                 mo_error *error)
{
  if (count == 0) return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "no tokens to read");
  if (count > g->capacity - g->length)
    return mo_fail(error, MOUSSE_OUT_OF_RANGE,
                   "%zu tokens after %zu, but the text may have %zu only", count, g->length,
                   g->capacity);
  MO_TRY(gpt_check_tokens(g->params, tokens, count, error));
  mo_blas_enter();
  size_t rows = 0;
  for (size_t done = 0; done < count; done += rows) {
    rows = count - done < g->rows ? count - done : g->rows;
    run_block(g, tokens + done, rows);
  }
  run_head(g, rows);
  mo_blas_leave();
  return MOUSSE_OK;
}

const float *gpt_generator_logits(const gpt_generator *g)
{
  return g->logits;
}

mousse_status gpt_generator_sample(gpt_generator *g, const gpt_sampling *sampling,
                                   uint64_t place, uint32_t *token, mo_error *error)
{
  MO_TRY(gpt_sampling_check(sampling, error));
  if (g->length == 0)
    return mo_fail(error, MOUSSE_WRONG_PHASE, "feed at least one token before sampling");
  const double uniform = mo_random_uniform(sampling->seed, 0, place);
  *token =
      gpt_sample(g->logits, g->params->config.vocab_size, sampling, uniform, g->candidates);
  return MOUSSE_OK;
}
