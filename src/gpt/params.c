/* params.c - the tensors of params.def in one array of values and one of gradients. */
#include "gpt/params.h"

#include "base/parallel.h"
#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct first_values {
  double deviation, start;
} first_values;

static first_values linear_values(size_t rows, size_t cols)
{
  const double ratio = (double)rows / (double)cols;
  return (first_values){fmin(1.0, sqrt(ratio)) / sqrt((double)cols), 0};
}

static first_values normal_values(double deviation)
{
  return (first_values){deviation, 0};
}

static first_values same_values(double start)
{
  return (first_values){0, start};
}

#define LINEAR(rows, cols) linear_values(rows, cols)
#define NORMAL(deviation)  normal_values(deviation)
#define FILLED(value)      same_values(value)

/* The list as it is walked: tensors NULL counts only. */
typedef struct listing {
  gpt_tensor *tensors;
  size_t count, values;
} listing;

static void set_name(gpt_tensor *tensor, const char *format, size_t layer)
{
  const char *number = strstr(format, "%zu");
  if (number == NULL)
    snprintf(tensor->name, sizeof tensor->name, "%s", format);
  else
    snprintf(tensor->name, sizeof tensor->name, "%.*s%zu%s", (int)(number - format), format,
             layer, number + strlen("%zu"));
}

/* The next tensor of the list; NULL while counting or when the model does not have it. */
static gpt_tensor *next(listing *list, bool exists, const char *format, size_t layer,
                        size_t rows, size_t cols, gpt_role role, first_values first)
{
  if (!exists) return NULL;
  const size_t place = list->count++;
  list->values += rows * cols;
  if (list->tensors == NULL) return NULL;
  gpt_tensor *tensor = &list->tensors[place];
  set_name(tensor, format, layer);
  tensor->rows = rows;
  tensor->cols = cols;
  tensor->role = role;
  tensor->deviation = first.deviation;
  tensor->start = first.start;
  return tensor;
}

#define SIZES                                                                                  \
  const size_t V = c->vocab_size, T = c->sequence_len, C = c->n_embd, D = c->head_size;        \
  const size_t Q = c->n_head * D, K = c->n_kv_head * D, W = c->mlp_width;                      \
  (void)V, (void)T, (void)C, (void)Q, (void)K, (void)W;

static void list_layer(listing *list, const gpt_config *c, gpt_layer *layer, size_t number)
{
  SIZES
#define GPT_TENSOR(...)
#define GPT_LAYER_TENSOR(field, name, rows, cols, role, start, when)                           \
  layer->field = next(list, when, name, number, rows, cols, role, start);
#include "gpt/params.def"
}

/* Only the tensors before the layers, then only those after: by their order in the table. */
static void list_singles(listing *list, const gpt_config *c, gpt_model_tensors *parts,
                         bool before)
{
  SIZES
  bool reached = false; /* the layers */
#define GPT_TENSOR(field, name, rows, cols, role, start, when)                                 \
  if (reached != before) parts->field = next(list, when, name, 0, rows, cols, role, start);
#define GPT_LAYER_TENSOR(...) reached = true;
#include "gpt/params.def"
}

/* c is resolved. parts->layers NULL: counts only. */
static void list_all(listing *list, const gpt_config *c, gpt_model_tensors *parts)
{
  gpt_layer counted;
  list_singles(list, c, parts, true);
  parts->first_layered = list->count;
  for (size_t layer = 0; layer < c->n_layer; layer++)
    list_layer(list, c, parts->layers != NULL ? &parts->layers[layer] : &counted, layer);
  parts->per_layer = (list->count - parts->first_layered) / c->n_layer;
  list_singles(list, c, parts, false);
}

static listing count_all(const gpt_config *resolved)
{
  gpt_model_tensors parts = {0};
  listing list = {0};
  list_all(&list, resolved, &parts);
  return list;
}

size_t gpt_parameter_count(const gpt_config *config)
{
  const gpt_config resolved = gpt_config_resolved(config);
  return count_all(&resolved).values;
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

static void lay_out_lists(mo_arena *arena, gpt_params *params)
{
  const listing list = count_all(&params->config);
  params->tensor_count = list.count;
  params->value_count = list.values;
  params->tensors = mo_arena_take(arena, params->tensor_count, sizeof *params->tensors);
  params->parts = mo_arena_take(arena, 1, sizeof *params->parts);
  gpt_layer *layers = mo_arena_take(arena, params->config.n_layer, sizeof *layers);
  if (params->parts != NULL) params->parts->layers = layers;
}

static void lay_out(mo_arena *arena, gpt_params *params, bool gradients)
{
  lay_out_lists(arena, params);
  params->values = mo_arena_floats(arena, params->value_count);
  if (gradients) params->gradients = mo_arena_floats(arena, params->value_count);
}

size_t gpt_params_bytes(const gpt_config *config, bool gradients)
{
  gpt_params measured = {.config = gpt_config_resolved(config)};
  mo_arena arena = mo_arena_start(NULL);
  lay_out(&arena, &measured, gradients);
  return arena.used + MO_ALIGNMENT + sizeof measured;
}

static void place_tensors(gpt_params *params)
{
  size_t offset = 0;
  listing list = {.tensors = params->tensors};
  list_all(&list, &params->config, params->parts);
  for (size_t i = 0; i < params->tensor_count; i++) {
    gpt_tensor *tensor = &params->tensors[i];
    tensor->value = params->values + offset;
    if (params->gradients != NULL) tensor->gradient = params->gradients + offset;
    offset += tensor->rows * tensor->cols;
  }
}

mousse_status gpt_params_create(gpt_params **out, const gpt_config *config, bool gradients,
                                const mo_allocator *allocator, mo_error *error)
{
  *out = NULL;
  MO_TRY(gpt_config_check(config, error));
  gpt_params *params = mo_allocate(allocator, sizeof *params);
  if (params == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for the model");
  params->config = gpt_config_resolved(config);
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
  place_tensors(params);
  *out = params;
  return MOUSSE_OK;
}

mousse_status gpt_params_outline(gpt_params **out, const gpt_config *config, mo_error *error)
{
  *out = NULL;
  MO_TRY(gpt_config_check(config, error));
  gpt_params *params = mo_allocate(NULL, sizeof *params);
  if (params == NULL)
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for a list of tensors");
  params->config = gpt_config_resolved(config);
  params->arena = mo_arena_start(NULL);
  lay_out_lists(&params->arena, params);
  if (!mo_arena_commit(&params->arena)) {
    mo_release(NULL, params, sizeof *params);
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for a list of tensors");
  }
  lay_out_lists(&params->arena, params);
  params->values = (float *)(uintptr_t)MO_ALIGNMENT;
  params->gradients = (float *)(uintptr_t)(MO_ALIGNMENT + params->value_count * sizeof(float));
  place_tensors(params);
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
  const size_t count = tensor->rows * tensor->cols;
  if (tensor->deviation > 0)
    mo_random_fill(tensor->value, count, tensor->deviation, job->seed, item);
  else
    for (size_t i = 0; i < count; i++) tensor->value[i] = (float)tensor->start;
}

void gpt_params_initialise(gpt_params *params, uint64_t seed, int threads)
{
  initialisation job = {params, seed};
  mo_parallel(threads > 0 ? threads : mo_threads_available(), params->tensor_count,
              initialise_tensor, &job);
}

/* The gradients of tensors [first, end) of the list. */
static gpt_gradient_span span_of(const gpt_params *params, size_t first, size_t end)
{
  gpt_gradient_span span = {NULL, 0};
  if (first < end) span.gradients = params->tensors[first].gradient;
  for (size_t i = first; i < end; i++)
    span.count += params->tensors[i].rows * params->tensors[i].cols;
  return span;
}

gpt_gradient_span gpt_completed_span(const gpt_params *params, size_t order)
{
  const gpt_model_tensors *parts = params->parts;
  const size_t layers = params->config.n_layer, first = parts->first_layered;
  const size_t behind = first + layers * parts->per_layer;
  if (behind == params->tensor_count) order++; /* no tensors of its own at the end */
  if (order == 0) return span_of(params, behind, params->tensor_count);
  if (order == layers + 1) return span_of(params, 0, first);
  if (order > layers + 1) return (gpt_gradient_span){NULL, 0};
  const size_t start = first + (layers - order) * parts->per_layer;
  return span_of(params, start, start + parts->per_layer);
}

void gpt_zero_gradients(gpt_params *params)
{
  if (params->gradients == NULL) return;
  memset(params->gradients, 0, params->value_count * sizeof *params->gradients);
}
