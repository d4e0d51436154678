/* params_list.c - the tensors of params.def for one configuration, and behind them the adapters of
 * those that lora_targets names: counted, and listed. */
#include "gpt/name_pattern.h"
#include "gpt/params.h"

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

enum { MOST_KINDS = 16 }; /* of hidden matrices in a layer */

/* The list as it is walked: tensors NULL counts only. */
typedef struct tensor_listing {
  gpt_tensor *tensors;
  size_t count, values;
  size_t rank;     /* of adapters; 0: there are none */
  regex_t targets; /* of matrices that have one */
  size_t adapters, adapter_values;
  size_t kind;              /* of the layer's next matrix, */
  bool adapted[MOST_KINDS]; /* and whether it has an adapter in some layer */
} tensor_listing;

static void set_name(gpt_tensor *tensor, const char *format, size_t layer)
{
  const char *number = strstr(format, "%zu");
  if (number == NULL)
    snprintf(tensor->name, sizeof tensor->name, "%s", format);
  else
    snprintf(tensor->name, sizeof tensor->name, "%.*s%zu%s", (int)(number - format), format,
             layer, number + strlen("%zu"));
}

/* An adapter is told with its matrix and listed behind all of these. */
static void count_adapter(tensor_listing *list, const gpt_tensor *matrix)
{
  const size_t kind = list->kind++;
  if (list->rank == 0 || regexec(&list->targets, matrix->name, 0, NULL, 0) != 0) return;
  list->adapters += 2;
  list->adapter_values += list->rank * (matrix->rows + matrix->cols);
  list->adapted[kind] = true;
}

/* The next tensor of the list; NULL while counting or when the model does not have it. */
static gpt_tensor *next(tensor_listing *list, bool exists, const char *format, size_t layer,
                        size_t rows, size_t cols, gpt_role role, first_values first)
{
  if (!exists) return NULL;
  gpt_tensor tensor = {.rows = rows,
                       .cols = cols,
                       .role = role,
                       .deviation = first.deviation,
                       .start = first.start};
  const size_t place = list->count++;
  list->values += rows * cols;
  if (list->tensors != NULL || list->rank > 0) set_name(&tensor, format, layer);
  if (role == GPT_MATRIX) count_adapter(list, &tensor);
  if (list->tensors == NULL) return NULL;
  list->tensors[place] = tensor;
  return &list->tensors[place];
}

#define SIZES                                                                                  \
  const size_t V = c->vocab_size, T = c->sequence_len, C = c->n_embd, D = c->head_size;        \
  const size_t Q = c->n_head * D, K = c->n_kv_head * D, W = c->mlp_width;                      \
  (void)V, (void)T, (void)C, (void)Q, (void)K, (void)W;

static void list_layer(tensor_listing *list, const gpt_config *c, gpt_layer *layer,
                       size_t number)
{
  SIZES
  list->kind = 0;
#define GPT_TENSOR(...)
#define GPT_LAYER_TENSOR(field, name, rows, cols, role, start, when)                           \
  layer->field = next(list, when, name, number, rows, cols, role, start);
#include "gpt/params.def"
}

/* Only the tensors before the layers, then only those after: by their order in the table. */
static void list_singles(tensor_listing *list, const gpt_config *c, gpt_model_tensors *parts,
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
static void list_all(tensor_listing *list, const gpt_config *c, gpt_model_tensors *parts)
{
  gpt_layer counted;
  list_singles(list, c, parts, true);
  parts->first_layered = list->count;
  for (size_t layer = 0; layer < c->n_layer; layer++)
    list_layer(list, c, parts->layers != NULL ? &parts->layers[layer] : &counted, layer);
  /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero) - a configuration that was checked has layers */
  parts->per_layer = (list->count - parts->first_layered) / c->n_layer;
  list_singles(list, c, parts, false);
}

/* The configuration has passed its check: the expression is one. */
static tensor_listing open_listing(const gpt_config *c)
{
  tensor_listing list = {.rank = c->lora_rank};
  if (list.rank > 0 &&
      name_pattern_open(&list.targets, "lora_targets", c->lora_targets, NULL) != MOUSSE_OK)
    list.rank = 0;
  return list;
}

static void close_listing(tensor_listing *list)
{
  if (list->rank > 0) regfree(&list->targets);
}

gpt_tensor_count gpt_count_tensors(const gpt_config *resolved)
{
  gpt_model_tensors parts = {0};
  tensor_listing list = open_listing(resolved);
  size_t slots = 0;
  list_all(&list, resolved, &parts);
  close_listing(&list);
  for (size_t kind = 0; kind < MOST_KINDS; kind++) slots += list.adapted[kind];
  return (gpt_tensor_count){.tensors = list.count + list.adapters,
                            .values = list.values + list.adapter_values,
                            .base_tensors = list.count,
                            .base_values = list.values,
                            .slots = slots};
}

/* "transformer.h.0.attn.c_q.weight" has "transformer.h.0.attn.c_q.lora_a". */
static void name_adapter(gpt_tensor *adapter, const gpt_tensor *matrix, const char *end)
{
  const int length = (int)(strlen(matrix->name) - strlen(".weight"));
  snprintf(adapter->name, sizeof adapter->name, "%.*s.%s", length, matrix->name, end);
}

/* A starts as Gaussian numbers that keep x's size, B as zeros: at first W is W. */
static void add_adapter(tensor_listing *list, gpt_tensor *matrix)
{
  gpt_tensor *a = &list->tensors[list->count++], *b = &list->tensors[list->count++];
  *a = (gpt_tensor){.rows = list->rank,
                    .cols = matrix->cols,
                    .role = GPT_MATRIX,
                    .deviation = 1 / sqrt((double)matrix->cols)};
  *b = (gpt_tensor){.rows = matrix->rows, .cols = list->rank, .role = GPT_MATRIX};
  name_adapter(a, matrix, "lora_a");
  name_adapter(b, matrix, "lora_b");
  matrix->lora_a = a;
  matrix->lora_b = b;
}

static void add_layer_adapters(tensor_listing *list, gpt_tensor *first, size_t count)
{
  size_t slot = 0, kind = 0;
  for (gpt_tensor *t = first; t < first + count; t++) {
    if (t->role != GPT_MATRIX) continue;
    t->slot = slot;
    slot += list->adapted[kind++];
    if (list->rank > 0 && regexec(&list->targets, t->name, 0, NULL, 0) == 0)
      add_adapter(list, t);
  }
}

void gpt_list_tensors(gpt_params *params)
{
  gpt_model_tensors *parts = params->parts;
  const size_t layers = params->config.n_layer;
  tensor_listing list = open_listing(&params->config);
  list.tensors = params->tensors;
  list_all(&list, &params->config, parts);
  for (size_t layer = 0; layer < layers; layer++) {
    parts->adapters[layer] = list.count;
    add_layer_adapters(&list, params->tensors + parts->first_layered + layer * parts->per_layer,
                       parts->per_layer);
  }
  parts->adapters[layers] = list.count;
  close_listing(&list);
}
