/* params.c - a model's tensors in one array of values and one of gradients: made, outlined, given
 * their first values. */
#include "gpt/params.h"

#include "base/parallel.h"
#include "base/random.h"

size_t gpt_parameter_count(const gpt_config *config)
{
  const gpt_config resolved = gpt_config_resolved(config);
  return gpt_count_tensors(&resolved).values;
}

static mousse_status check_ids(const gpt_params *params, const char *what, const uint32_t *ids,
                               size_t count, bool may_lack, mo_error *error)
{
  const size_t vocabulary = params->config.vocab_size;
  for (size_t i = 0; i < count; i++)
    if (ids[i] >= vocabulary && !(may_lack && ids[i] == GPT_NO_TARGET))
      return mo_fail(error, MOUSSE_OUT_OF_RANGE,
                     "%s %zu is %u, outside the model's vocabulary of %zu", what, i, ids[i],
                     vocabulary);
  return MOUSSE_OK;
}

mousse_status gpt_check_tokens(const gpt_params *params, const uint32_t *tokens, size_t count,
                               mo_error *error)
{
  return check_ids(params, "token", tokens, count, false, error);
}

mousse_status gpt_check_targets(const gpt_params *params, const uint32_t *targets, size_t count,
                                mo_error *error)
{
  return check_ids(params, "target", targets, count, true, error);
}

static void lay_out_lists(mo_arena *arena, gpt_params *params)
{
  const gpt_tensor_count count = gpt_count_tensors(&params->config);
  const size_t layers = params->config.n_layer;
  params->tensor_count = count.tensors;
  params->value_count = count.values;
  params->base_count = count.base_tensors;
  params->base_values = count.base_values;
  params->tensors = mo_arena_take(arena, params->tensor_count, sizeof *params->tensors);
  params->parts = mo_arena_take(arena, 1, sizeof *params->parts);
  gpt_layer *layer = mo_arena_take(arena, layers, sizeof *layer);
  size_t *adapters = mo_arena_take(arena, layers + 1, sizeof *adapters);
  if (params->parts == NULL) return;
  params->parts->layers = layer;
  params->parts->adapters = adapters;
}

/* With gradient_count set. */
static void lay_out(mo_arena *arena, gpt_params *params, bool gradients)
{
  lay_out_lists(arena, params);
  params->values = mo_arena_floats(arena, params->value_count);
  if (gradients) params->gradients = mo_arena_floats(arena, params->gradient_count);
}

static size_t measure(const gpt_config *resolved, size_t gradient_count, bool gradients)
{
  gpt_params measured = {.config = *resolved, .gradient_count = gradient_count};
  mo_arena arena = mo_arena_start(NULL);
  lay_out(&arena, &measured, gradients);
  return arena.used + MO_ALIGNMENT + sizeof measured;
}

/* Where nothing is frozen by name: adapters alone have gradients where there are some. */
static size_t plain_gradients(const gpt_config *resolved)
{
  const gpt_tensor_count count = gpt_count_tensors(resolved);
  return resolved->lora_rank > 0 ? count.values - count.base_values : count.values;
}

size_t gpt_params_bytes(const gpt_config *config, bool gradients)
{
  const gpt_config resolved = gpt_config_resolved(config);
  return measure(&resolved, plain_gradients(&resolved), gradients);
}

size_t gpt_outline_bytes(const gpt_params *outline)
{
  return measure(&outline->config, outline->gradient_count, true);
}

static mousse_status list_tensors(gpt_params *params, const char *freeze, mo_error *error)
{
  size_t offset = 0;
  gpt_list_tensors(params);
  if (params->config.lora_rank > 0 && params->tensor_count == params->base_count)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "lora_targets: '%.100s' matches no hidden matrix's name; names look like %s",
                   params->config.lora_targets, params->parts->layers[0].c_q->name);
  for (size_t i = 0; i < params->tensor_count; i++) {
    params->tensors[i].value = params->values + offset;
    offset += params->tensors[i].rows * params->tensors[i].cols;
  }
  return gpt_freeze(params, freeze, error);
}

/* The tensors' lists, their memory being there. */
static mousse_status place_tensors(gpt_params *params, const char *freeze, mo_error *error)
{
  MO_TRY(list_tensors(params, freeze, error));
  if (params->gradients != NULL)
    params->gradient_count = gpt_place_gradients(params, params->gradients);
  return MOUSSE_OK;
}

static mousse_status no_memory(const gpt_config *config, size_t bytes, bool gradients,
                               mo_error *error)
{
  return mo_fail(error, MOUSSE_NO_MEMORY,
                 "no memory for the model's %zu parameters%s: %zu bytes",
                 gpt_parameter_count(config), gradients ? " and gradients" : "", bytes);
}

static mousse_status create(gpt_params **out, const gpt_config *config, size_t gradient_count,
                            bool gradients, const char *freeze, const mo_allocator *allocator,
                            mo_error *error)
{
  gpt_params *params = mo_allocate(allocator, sizeof *params);
  if (params == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for the model");
  params->config = gpt_config_resolved(config);
  params->gradient_count = gradient_count;
  params->arena = mo_arena_start(allocator);
  lay_out(&params->arena, params, gradients);
  if (!mo_arena_commit(&params->arena)) {
    mo_release(allocator, params, sizeof *params);
    const gpt_config resolved = gpt_config_resolved(config);
    return no_memory(config, measure(&resolved, gradient_count, gradients), gradients, error);
  }
  lay_out(&params->arena, params, gradients);
  const mousse_status status = place_tensors(params, freeze, error);
  if (status == MOUSSE_OK)
    *out = params;
  else
    gpt_params_destroy(params);
  return status;
}

mousse_status gpt_params_create(gpt_params **out, const gpt_config *config, bool gradients,
                                const mo_allocator *allocator, mo_error *error)
{
  *out = NULL;
  MO_TRY(gpt_config_check(config, error));
  const gpt_config resolved = gpt_config_resolved(config);
  const size_t count = gradients ? plain_gradients(&resolved) : 0;
  return create(out, config, count, gradients, "", allocator, error);
}

mousse_status gpt_params_create_frozen(gpt_params **out, const gpt_config *config,
                                       const char *freeze, const mo_allocator *allocator,
                                       mo_error *error)
{
  gpt_params *outline = NULL;
  *out = NULL;
  MO_TRY(gpt_params_outline(&outline, config, freeze, error));
  const size_t count = outline->gradient_count;
  gpt_params_destroy(outline);
  return create(out, config, count, true, freeze, allocator, error);
}

mousse_status gpt_params_outline(gpt_params **out, const gpt_config *config, const char *freeze,
                                 mo_error *error)
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
  const mousse_status status = place_tensors(params, freeze, error);
  if (status == MOUSSE_OK)
    *out = params;
  else
    gpt_params_destroy(params);
  return status;
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
  size_t first; /* of the tensors */
} initialisation;

/* A tensor's numbers depend on its place in the list and on nothing else. */
static void initialise_tensor(void *context, size_t item, int thread)
{
  (void)thread;
  const initialisation *job = context;
  const size_t place = job->first + item;
  const gpt_tensor *tensor = &job->params->tensors[place];
  const size_t count = tensor->rows * tensor->cols;
  if (tensor->deviation > 0)
    mo_random_fill(tensor->value, count, tensor->deviation, job->seed, place);
  else
    for (size_t i = 0; i < count; i++) tensor->value[i] = (float)tensor->start;
}

static void initialise(gpt_params *params, size_t first, uint64_t seed, int threads)
{
  initialisation job = {params, seed, first};
  mo_parallel(threads > 0 ? threads : mo_threads_available(), params->tensor_count - first,
              initialise_tensor, &job);
}

void gpt_params_initialise(gpt_params *params, uint64_t seed, int threads)
{
  initialise(params, 0, seed, threads);
}

void gpt_initialise_adapters(gpt_params *params, uint64_t seed, int threads)
{
  initialise(params, params->base_count, seed, threads);
}

/* The gradients of tensors [first, end) of the list, as far as they have some. */
static gpt_gradient_span span_of(const gpt_params *params, size_t first, size_t end)
{
  gpt_gradient_span span = {NULL, 0};
  for (size_t i = first; i < end; i++) {
    const gpt_tensor *t = &params->tensors[i];
    if (t->gradient == NULL) continue;
    if (span.count == 0) span.gradients = t->gradient;
    span.count += t->rows * t->cols;
  }
  return span;
}

static bool has_end(const gpt_params *params) /* tensors of its own behind the layers */
{
  const gpt_model_tensors *parts = params->parts;
  return parts->first_layered + params->config.n_layer * parts->per_layer < params->base_count;
}

size_t gpt_completed_count(const gpt_params *params)
{
  return params->config.n_layer + (has_end(params) ? 2 : 1);
}

gpt_gradient_span gpt_completed_span(const gpt_params *params, size_t order)
{
  const gpt_model_tensors *parts = params->parts;
  const size_t layers = params->config.n_layer, first = parts->first_layered;
  const size_t behind = first + layers * parts->per_layer;
  if (!has_end(params)) order++;
  if (order == 0) return span_of(params, behind, params->base_count);
  if (order == layers + 1) return span_of(params, 0, first);
  if (order > layers + 1) return (gpt_gradient_span){NULL, 0};
  const size_t layer = layers - order, start = first + layer * parts->per_layer;
  if (params->config.lora_rank > 0)
    return span_of(params, parts->adapters[layer], parts->adapters[layer + 1]);
  return span_of(params, start, start + parts->per_layer);
}

void gpt_move_gradients(gpt_params *params, float *gradients)
{
  if (params->gradients == gradients) return;
  params->gradients = gradients;
  gpt_place_gradients(params, gradients);
}
