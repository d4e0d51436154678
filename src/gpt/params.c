/* params.c - the tensors of params.def in one array of values and one of gradients. */
#include "gpt/params.h"

#include "base/parallel.h"
#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define GPT_TENSOR(...)       +1
#define GPT_LAYER_TENSOR(...) +0
enum {
  SINGLE_TENSORS = 0
#include "gpt/params.def"
};
#undef GPT_TENSOR
#undef GPT_LAYER_TENSOR
#define GPT_TENSOR(...)       +0
#define GPT_LAYER_TENSOR(...) +1
enum {
  LAYER_TENSORS = 0
#include "gpt/params.def"
};
#undef GPT_TENSOR
#undef GPT_LAYER_TENSOR

static double linear_deviation(size_t rows, size_t cols)
{
  const double ratio = (double)rows / (double)cols;
  return fmin(1.0, sqrt(ratio)) / sqrt((double)cols);
}

static void describe(gpt_tensor *tensor, const char *format, size_t layer, size_t rows,
                     size_t cols, gpt_role role, double deviation)
{
  const char *number = strstr(format, "%zu");
  if (number == NULL)
    snprintf(tensor->name, sizeof tensor->name, "%s", format);
  else
    snprintf(tensor->name, sizeof tensor->name, "%.*s%zu%s", (int)(number - format), format,
             layer, number + strlen("%zu"));
  tensor->rows = rows;
  tensor->cols = cols;
  tensor->role = role;
  tensor->deviation = deviation;
}

#define LINEAR(rows, cols) linear_deviation(rows, cols)

/* wte is first, the head last, the layers between them. */
static void describe_tensors(gpt_params *params)
{
  const size_t C = params->config.n_embd, V = params->config.vocab_size;
  const size_t layers = params->config.n_layer;
  gpt_tensor *single = params->tensors;
#define GPT_TENSOR(field, name, rows, cols, role, deviation)                                   \
  describe(single, name, 0, rows, cols, role, deviation);                                      \
  single = params->tensors + params->tensor_count - 1;
#define GPT_LAYER_TENSOR(...)
#include "gpt/params.def"
#undef GPT_TENSOR
#undef GPT_LAYER_TENSOR
  gpt_tensor *next = params->tensors + 1;
  for (size_t layer = 0; layer < layers; layer++) {
#define GPT_TENSOR(...)
#define GPT_LAYER_TENSOR(field, name, rows, cols, role, deviation)                             \
  describe(next++, name, layer, rows, cols, role, deviation);
#include "gpt/params.def"
#undef GPT_TENSOR
#undef GPT_LAYER_TENSOR
  }
}

gpt_layer gpt_params_layer(const gpt_params *params, size_t layer)
{
  const gpt_tensor *next = params->tensors + 1 + layer * LAYER_TENSORS;
  gpt_layer tensors;
#define GPT_TENSOR(...)
#define GPT_LAYER_TENSOR(field, ...) tensors.field = next++;
#include "gpt/params.def"
#undef GPT_TENSOR
#undef GPT_LAYER_TENSOR
  return tensors;
}

const gpt_tensor *gpt_params_wte(const gpt_params *params)
{
  return params->tensors;
}

const gpt_tensor *gpt_params_head(const gpt_params *params)
{
  return params->tensors + params->tensor_count - 1;
}

mousse_status gpt_check_tokens(const gpt_params *params, const char *what,
                               const uint32_t *tokens, size_t count, mo_error *error)
{
  const size_t vocabulary = params->config.vocab_size;
  for (size_t i = 0; i < count; i++)
    if (tokens[i] >= vocabulary)
      return mo_fail(error, MOUSSE_OUT_OF_RANGE,
                     "%s %zu is %u, outside the model's vocabulary of %zu", what, i, tokens[i],
                     vocabulary);
  return MOUSSE_OK;
}

static void lay_out(mo_arena *arena, gpt_params *params, bool gradients)
{
  params->tensor_count = SINGLE_TENSORS + LAYER_TENSORS * params->config.n_layer;
  params->value_count = gpt_parameter_count(&params->config);
  params->tensors = mo_arena_take(arena, params->tensor_count, sizeof *params->tensors);
  params->values = mo_arena_floats(arena, params->value_count);
  if (gradients) params->gradients = mo_arena_floats(arena, params->value_count);
}

size_t gpt_params_bytes(const gpt_config *config, bool gradients)
{
  gpt_params measured = {.config = *config};
  mo_arena arena = mo_arena_start(NULL);
  lay_out(&arena, &measured, gradients);
  return arena.used + MO_ALIGNMENT + sizeof measured;
}

mousse_status gpt_params_create(gpt_params **out, const gpt_config *config, bool gradients,
                                const mo_allocator *allocator, mo_error *error)
{
  *out = NULL;
  MO_TRY(gpt_config_check(config, error));
  gpt_params *params = mo_allocate(allocator, sizeof *params);
  if (params == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for the model");
  params->config = *config;
  params->arena = mo_arena_start(allocator);
  lay_out(&params->arena, params, gradients);
  if (!mo_arena_commit(&params->arena)) {
    mo_release(allocator, params, sizeof *params);
    return mo_fail(error, MOUSSE_NO_MEMORY,
                   "no memory for the model's %zu parameters%s: %zu bytes",
                   gpt_parameter_count(config), gradients ? " and gradients" : "",
                   gpt_params_bytes(config, gradients));
  }
  lay_out(&params->arena, params, gradients);
  describe_tensors(params);
  size_t offset = 0;
  for (size_t i = 0; i < params->tensor_count; i++) {
    gpt_tensor *tensor = &params->tensors[i];
    tensor->value = params->values + offset;
    if (gradients) tensor->gradient = params->gradients + offset;
    offset += tensor->rows * tensor->cols;
  }
  *out = params;
  return MOUSSE_OK;
}

void gpt_params_destroy(gpt_params *params)
{
  if (params == NULL) return;
  const mo_allocator *allocator = params->arena.allocator;
  mo_arena_release(&params->arena);
  mo_release(allocator, params, sizeof *params);
}

typedef struct initialisation {
  gpt_params *params;
  uint64_t seed;
} initialisation;

/* A tensor's numbers depend on its place in the list and on nothing else. */
static void initialise_tensor(void *context, size_t item, int thread)
{
  (void)thread;
  const initialisation *job = context;
  const gpt_tensor *tensor = &job->params->tensors[item];
  mo_random_fill(tensor->value, tensor->rows * tensor->cols, tensor->deviation, job->seed,
                 item);
}

void gpt_params_initialise(gpt_params *params, uint64_t seed, int threads)
{
  initialisation job = {params, seed};
  mo_parallel(threads > 0 ? threads : mo_threads_available(), params->tensor_count,
              initialise_tensor, &job);
}

gpt_gradient_span gpt_completed_span(const gpt_params *params, size_t order)
{
  const size_t layers = params->config.n_layer;
  if (order > layers + 1) return (gpt_gradient_span){NULL, 0};
  size_t first = 0, count = 1; /* the embedding */
  if (order == 0) first = params->tensor_count - 1;
  if (order > 0 && order <= layers) {
    first = 1 + (layers - order) * LAYER_TENSORS;
    count = LAYER_TENSORS;
  }
  gpt_gradient_span run = {params->tensors[first].gradient, 0};
  for (size_t i = first; i < first + count; i++)
    run.count += params->tensors[i].rows * params->tensors[i].cols;
  return run;
}

void gpt_zero_gradients(gpt_params *params)
{
  if (params->gradients == NULL) return;
  memset(params->gradients, 0, params->value_count * sizeof *params->gradients);
}
