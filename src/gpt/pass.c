/* pass.c - plans and makes the memory of a pass; checks a batch and runs it. */
#include "gpt/pass.h"

#include "base/parallel.h"
#include "gpt/layers/layers.h"
#include "linalg/blas.h"

/* Logits at most this many at a time (128 MiB), but a tile's worth of rows at least. */
enum { LARGEST_LOGITS = 32 << 20, LARGEST_TILE = 256, SMALLEST_TILE = 32 };
enum { LARGEST_BATCH = 1 << 24, MOST_THREADS = 1024 };
enum { LEAST_RECOMPUTED = 3 }; /* of so many layers recomputing would spare nothing */

static size_t smaller(size_t a, size_t b)
{
  return a < b ? a : b;
}

/* Rows of a tile: large enough that copying the weights into the BLAS's packed form is little
 * beside the product, small enough for at least four tiles. A function of the batch alone. */
static size_t tile_rows_for(size_t rows)
{
  const size_t quarter = (rows / 4 + SMALLEST_TILE - 1) / SMALLEST_TILE * SMALLEST_TILE;
  return quarter < SMALLEST_TILE ? SMALLEST_TILE : smaller(quarter, LARGEST_TILE);
}

static size_t head_rows_for(size_t rows, size_t vocabulary)
{
  const size_t fitting = LARGEST_LOGITS / vocabulary / LARGEST_TILE * LARGEST_TILE;
  return smaller(rows, fitting < LARGEST_TILE ? LARGEST_TILE : fitting);
}

/* d_final is a product over the whole vocabulary with few rows: of one thread's size only when
 * that is cut, too. */
static size_t head_parts_for(size_t vocabulary)
{
  enum { TOKENS = 3072, MOST = GPT_MOST_HEAD_PARTS };
  const size_t parts = vocabulary / TOKENS;
  return parts < 1 ? 1 : smaller(parts, MOST);
}

/* The arrays that all layers share, because backward computes them again. */
static gpt_activations lay_out_shared(mo_arena *arena, const gpt_config *c, size_t N)
{
  gpt_activations shared = {0};
  if (c->norm != GPT_RMS) shared.input1 = mo_arena_floats(arena, N * c->n_embd);
  if (c->norm != GPT_RMS) shared.input2 = mo_arena_floats(arena, N * c->n_embd);
  if (gpt_keeps_hidden(c)) shared.active = mo_arena_floats(arena, N * c->mlp_width);
  return shared;
}

/* Numbers of a row inside the adapters of a layer. */
static size_t low_width(const gpt_config *c)
{
  return gpt_count_tensors(c).slots * c->lora_rank;
}

static void lay_out_kept(mo_arena *arena, gpt_activations *kept, const gpt_config *c, size_t N)
{
  const size_t C = c->n_embd, heads = c->n_head + c->n_kv_head;
  kept->norm1 = mo_arena_floats(arena, N * C);
  kept->r1 = mo_arena_floats(arena, N);
  kept->qkv = mo_arena_floats(arena, N * gpt_qkv_width(c));
  kept->r_qk = mo_arena_floats(arena, N * heads);
  if (c->qk_norm == GPT_QK_GAIN)
    kept->normal_qk = mo_arena_floats(arena, N * heads * c->head_size);
  kept->attended = mo_arena_floats(arena, N * c->n_head * c->head_size);
  kept->log_sum = mo_arena_floats(arena, N * c->n_head);
  kept->norm2 = mo_arena_floats(arena, N * C);
  kept->r2 = mo_arena_floats(arena, N);
  kept->hidden = mo_arena_floats(arena, N * gpt_hidden_width(c));
  if (c->lora_rank > 0) kept->low = mo_arena_floats(arena, N * low_width(c));
  if (c->norm == GPT_RMS) kept->input1 = kept->norm1;
  if (c->norm == GPT_RMS) kept->input2 = kept->norm2;
  if (!gpt_keeps_hidden(c)) kept->active = kept->hidden;
}

/* Two sets of activations, each with arrays of its own, and the inputs of all layers but the last
 * two, whose sets are still there when backward begins. */
static void lay_out_inputs(mo_arena *arena, gpt_pass *pass, const gpt_config *c, size_t N)
{
  gpt_activations sets[2];
  for (size_t i = 0; i < 2; i++) {
    sets[i] = lay_out_shared(arena, c, N);
    lay_out_kept(arena, &sets[i], c, N);
  }
  pass->inputs = mo_arena_take(arena, c->n_layer, sizeof *pass->inputs);
  for (size_t layer = 0; layer < c->n_layer; layer++) {
    float *input = layer + 2 < c->n_layer ? mo_arena_floats(arena, N * c->n_embd) : NULL;
    if (pass->inputs != NULL) pass->inputs[layer] = input;
    if (pass->kept != NULL) pass->kept[layer] = sets[layer % 2];
  }
}

static void lay_out_layers(mo_arena *arena, gpt_pass *pass, const gpt_config *c, size_t N)
{
  pass->kept = mo_arena_take(arena, c->n_layer, sizeof *pass->kept);
  if (pass->shape.gradients && pass->shape.recompute && c->n_layer > LEAST_RECOMPUTED) {
    lay_out_inputs(arena, pass, c, N);
    return;
  }
  gpt_activations kept = lay_out_shared(arena, c, N);
  for (size_t layer = 0; layer < c->n_layer; layer++) {
    if (layer == 0 || pass->shape.gradients) lay_out_kept(arena, &kept, c, N);
    if (pass->kept != NULL) pass->kept[layer] = kept;
  }
}

/* Numbers in a layer's vectors, as params.def orders them, but for those of QK-norm. */
static size_t count_vectors(const gpt_config *c)
{
  const size_t norms = c->norm == GPT_RMS ? 0 : c->norm == GPT_RMS_GAIN ? 2 : 4;
  size_t count = norms * c->n_embd;
  if (c->qkv_bias) count += gpt_qkv_width(c);
  if (c->proj_bias) count += c->n_embd;
  if (c->mlp_bias) count += gpt_hidden_width(c) + c->n_embd;
  return count;
}

/* As many as any batch up to this size is cut into. */
static size_t most_tiles(size_t rows)
{
  return (rows + SMALLEST_TILE - 1) / SMALLEST_TILE;
}

static void lay_out_gradients(mo_arena *arena, gpt_pass *pass, const gpt_config *c, size_t N)
{
  gpt_gradient_space *g = &pass->gradient;
  const size_t C = c->n_embd, A = c->n_head * c->head_size, tiles = most_tiles(N);
  g->d_x = mo_arena_floats(arena, N * C);
  g->d_middle = mo_arena_floats(arena, N * C);
  g->d_norm = mo_arena_floats(arena, N * C);
  g->d_attended = A == C ? g->d_norm : mo_arena_floats(arena, N * A);
  g->d_qkv = mo_arena_floats(arena, N * gpt_qkv_width(c));
  g->d_hidden = mo_arena_floats(arena, N * gpt_hidden_width(c));
  g->d_active = g->d_hidden;
  if (c->mlp == GPT_SWIGLU) g->d_active = mo_arena_floats(arena, N * c->mlp_width);
  pass->vector_count = count_vectors(c);
  g->vectors = mo_arena_floats(arena, tiles * pass->vector_count);
  if (c->norm != GPT_RMS) g->final_vectors = mo_arena_floats(arena, tiles * 2 * C);
  if (c->qk_norm == GPT_QK_GAIN)
    g->qk_gains = mo_arena_floats(arena, pass->shape.batch * c->n_kv_head * 2 * c->head_size);
  if (c->lora_rank > 0) g->d_low = mo_arena_floats(arena, N * low_width(c));
}

/* N, C and V are each far below 2^32 here (check_shape, gpt_config_check); c is resolved. */
static void lay_out(mo_arena *arena, gpt_pass *pass, const gpt_config *c)
{
  const gpt_shape *shape = &pass->shape;
  const size_t N = shape->batch * shape->sequence, C = c->n_embd;
  pass->head_rows = head_rows_for(N, c->vocab_size);
  pass->x = mo_arena_floats(arena, N * C);
  pass->final = mo_arena_floats(arena, N * C);
  pass->normal_final = c->norm == GPT_RMS ? pass->final : mo_arena_floats(arena, N * C);
  pass->r_final = mo_arena_floats(arena, N);
  pass->logits = mo_arena_floats(arena, pass->head_rows * c->vocab_size);
  pass->head_parts = shape->gradients ? head_parts_for(c->vocab_size) : 1;
  if (pass->head_parts > 1)
    pass->head_sums = mo_arena_floats(arena, pass->head_parts * pass->head_rows * C);
  pass->losses = mo_arena_floats(arena, N);
  pass->cosines = mo_arena_floats(arena, gpt_angles(c, shape->sequence));
  pass->sines = mo_arena_floats(arena, gpt_angles(c, shape->sequence));
  lay_out_layers(arena, pass, c, N);
  pass->scratch = mo_arena_take(arena, (size_t)shape->threads, sizeof *pass->scratch);
  for (int thread = 0; thread < shape->threads; thread++) {
    float *block = mo_arena_floats(arena, attention_scratch(shape->sequence));
    if (pass->scratch != NULL) pass->scratch[thread] = block;
  }
  if (shape->gradients) lay_out_gradients(arena, pass, c, N);
}

static gpt_shape resolved(const gpt_shape *shape)
{
  gpt_shape result = *shape;
  if (result.threads <= 0) result.threads = mo_threads_available();
  return result;
}

static mousse_status check_shape(const gpt_config *config, const gpt_shape *shape,
                                 mo_error *error)
{
  size_t rows = 0;
  if (shape->sequence < 1 || shape->sequence > config->sequence_len)
    return mo_fail(error, MOUSSE_OUT_OF_RANGE,
                   "sequences of %zu tokens, expected 1 to the model's sequence_len %zu",
                   shape->sequence, config->sequence_len);
  if (shape->batch < 1 || !mo_multiply(shape->batch, shape->sequence, &rows) ||
      rows > LARGEST_BATCH)
    return mo_fail(error, MOUSSE_OUT_OF_RANGE,
                   "a batch of %zu sequences of %zu tokens, expected 1 to %d tokens in all",
                   shape->batch, shape->sequence, LARGEST_BATCH);
  if (shape->threads > MOST_THREADS)
    return mo_fail(error, MOUSSE_OUT_OF_RANGE, "%d threads, expected at most %d",
                   shape->threads, MOST_THREADS);
  return MOUSSE_OK;
}

size_t gpt_pass_bytes(const gpt_config *config, const gpt_shape *shape)
{
  gpt_pass measured = {.shape = resolved(shape)};
  mo_arena arena = mo_arena_start(NULL);
  if (check_shape(config, &measured.shape, NULL) != MOUSSE_OK) return 0;
  const gpt_config c = gpt_config_resolved(config);
  lay_out(&arena, &measured, &c);
  return arena.overflow ? 0 : arena.used + MO_ALIGNMENT + sizeof measured;
}

size_t gpt_plan_bytes(const gpt_config *config, const gpt_shape *shape)
{
  const size_t params = gpt_params_bytes(config, shape->gradients);
  const size_t pass = gpt_pass_bytes(config, shape);
  size_t sum = 0;
  return params > 0 && pass > 0 && mo_add(params, pass, &sum) ? sum : 0;
}

mousse_status gpt_pass_create(gpt_pass **out, gpt_params *params, const gpt_shape *wanted,
                              const mo_allocator *allocator, mo_error *error)
{
  *out = NULL;
  const gpt_shape shape = resolved(wanted);
  MO_TRY(check_shape(&params->config, &shape, error));
  if (shape.gradients && params->gradients == NULL)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "the parameters were made without gradients; this pass needs them");
  gpt_pass *pass = mo_allocate(allocator, sizeof *pass);
  if (pass == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for a pass");
  pass->params = params;
  pass->shape = shape;
  pass->arena = mo_arena_start(allocator);
  lay_out(&pass->arena, pass, &params->config);
  if (!mo_arena_commit(&pass->arena)) {
    mo_release(allocator, pass, sizeof *pass);
    return mo_fail(error, MOUSSE_NO_MEMORY,
                   "no memory for activations of %zu x %zu tokens: %zu bytes; a smaller batch "
                   "needs less",
                   shape.batch, shape.sequence, gpt_pass_bytes(&params->config, &shape));
  }
  lay_out(&pass->arena, pass, &params->config);
  gpt_position_tables(&params->config, pass->cosines, pass->sines, shape.sequence);
  if (!mo_blas_fits_memory(shape.threads)) { /* in what is left */
    gpt_pass_destroy(pass);
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for the BLAS on %d threads",
                   shape.threads);
  }
  *out = pass;
  return MOUSSE_OK;
}

void gpt_pass_destroy(gpt_pass *pass)
{
  if (pass == NULL) return;
  const mo_allocator *allocator = pass->arena.allocator;
  mo_arena_release(&pass->arena);
  mo_release(allocator, pass, sizeof *pass);
}

static mousse_status check_starts(const gpt_batch *batch, mo_error *error)
{
  for (size_t i = 0; batch->starts != NULL && i < batch->batch * batch->sequence; i++) {
    const size_t place = i % batch->sequence, start = batch->starts[i];
    if (start > place || (place > 0 && start < batch->starts[i - 1]))
      return mo_fail(error, MOUSSE_OUT_OF_RANGE,
                     "the document at position %zu begins at %zu, which is after that position "
                     "or before the start of the document at the previous one",
                     place, start);
  }
  return MOUSSE_OK;
}

static mousse_status check_batch(const gpt_pass *pass, const gpt_batch *batch, mo_error *error)
{
  const gpt_shape *shape = &pass->shape;
  if (batch->batch < 1 || batch->sequence < 1 || batch->batch > shape->batch ||
      batch->sequence > shape->sequence)
    return mo_fail(error, MOUSSE_OUT_OF_RANGE,
                   "a batch of %zu x %zu tokens for a pass made for %zu x %zu", batch->batch,
                   batch->sequence, shape->batch, shape->sequence);
  const size_t count = batch->batch * batch->sequence;
  MO_TRY(gpt_check_tokens(pass->params, batch->tokens, count, error));
  MO_TRY(gpt_check_targets(pass->params, batch->targets, count, error));
  return check_starts(batch, error);
}

size_t gpt_batch_targets(const gpt_batch *batch)
{
  size_t count = 0;
  for (size_t i = 0; i < batch->batch * batch->sequence; i++)
    count += batch->targets[i] != GPT_NO_TARGET;
  return count;
}

static gpt_step step_for(gpt_pass *pass, const gpt_batch *batch)
{
  const gpt_config *c = &pass->params->config;
  const size_t rows = batch->batch * batch->sequence, tile_rows = tile_rows_for(rows);
  return (gpt_step){.pass = pass,
                    .batch = batch,
                    .config = c,
                    .counted = gpt_batch_targets(batch),
                    .N = rows,
                    .C = c->n_embd,
                    .H = c->n_head,
                    .K = c->n_kv_head,
                    .D = c->head_size,
                    .A = c->n_head * c->head_size,
                    .S = gpt_qkv_width(c),
                    .W = c->mlp_width,
                    .F = gpt_hidden_width(c),
                    .T = batch->sequence,
                    .V = c->vocab_size,
                    .tile_rows = tile_rows,
                    .tiles = (rows + tile_rows - 1) / tile_rows};
}

mousse_status gpt_loss(gpt_pass *pass, const gpt_batch *batch, float *loss, mo_error *error)
{
  MO_TRY(check_batch(pass, batch, error));
  const gpt_step step = step_for(pass, batch);
  mo_blas_enter();
  gpt_forward(&step);
  *loss = gpt_head(&step);
  mo_blas_leave();
  return MOUSSE_OK;
}

void gpt_pass_watch(gpt_pass *pass, gpt_complete_fn complete, void *user)
{
  pass->complete = complete;
  pass->complete_user = user;
}

mousse_status gpt_gradients(gpt_pass *pass, const gpt_batch *batch, float factor, bool add,
                            float *loss, mo_error *error)
{
  MO_TRY(check_batch(pass, batch, error));
  if (!pass->shape.gradients)
    return mo_fail(error, MOUSSE_WRONG_PHASE, "this pass was made without gradients");
  gpt_step step = step_for(pass, batch);
  step.gradients = true;
  step.factor = factor;
  step.beta = add ? 1.0f : 0.0f;
  mo_blas_enter();
  gpt_forward(&step);
  *loss = gpt_head(&step);
  pass->told = 0;
  if (!gpt_has_final_vectors(pass) && !step.config->tied) gpt_tell_complete(pass);
  gpt_backward(&step);
  mo_blas_leave();
  return MOUSSE_OK;
}
