/* params.h - where in the list of tensors each part of the model is. A tensor that the model's
 * table does not have is NULL. */
#ifndef MOUSSE_GPT_PARAMS_H
#define MOUSSE_GPT_PARAMS_H

#include "gpt/gpt.h"

/* One layer's tensors; c_q, c_k and c_v, back to back, are also one matrix at c_q, gate and fc
 * one at gate, and so are their biases. */
typedef struct gpt_layer {
#define GPT_TENSOR(field, name, rows, cols, role, start, when)
#define GPT_LAYER_TENSOR(field, name, rows, cols, role, start, when) const gpt_tensor *field;
#include "gpt/params.def"
} gpt_layer;

typedef struct gpt_model_tensors {
#define GPT_TENSOR(field, name, rows, cols, role, start, when) const gpt_tensor *field;
#define GPT_LAYER_TENSOR(field, name, rows, cols, role, start, when)
#include "gpt/params.def"
  gpt_layer *layers;               /* n_layer */
  size_t first_layered, per_layer; /* places in the list of tensors */
  size_t *adapters;                /* n_layer + 1: where each layer's begin, and they end */
} gpt_model_tensors;

/* params_list.c: how many tensors and values a resolved configuration has, in all and without
 * adapters; slots: kinds of matrices that have one in some layer. */
typedef struct gpt_tensor_count {
  size_t tensors, values, base_tensors, base_values, slots;
} gpt_tensor_count;
gpt_tensor_count gpt_count_tensors(const gpt_config *resolved);
/* Fills params->tensors and parts, whose arrays are there. */
void gpt_list_tensors(gpt_params *params);

/* freeze.c: marks what stays as it is; then gives the others their gradients from `gradients`
 * on, and says how many numbers these are. */
mousse_status gpt_freeze(gpt_params *params, const char *pattern, mo_error *error);
size_t gpt_place_gradients(gpt_params *params, float *gradients);

/* Refuses the first one outside the vocabulary; a target may be GPT_NO_TARGET. */
mousse_status gpt_check_tokens(const gpt_params *params, const uint32_t *tokens, size_t count,
                               mo_error *error);
mousse_status gpt_check_targets(const gpt_params *params, const uint32_t *targets, size_t count,
                                mo_error *error);

static inline gpt_layer gpt_params_layer(const gpt_params *params, size_t layer)
{
  return params->parts->layers[layer];
}

/* The head's matrix: the embedding's when they are tied. */
static inline const gpt_tensor *gpt_params_head(const gpt_params *params)
{
  return params->config.tied ? params->parts->wte : params->parts->lm_head;
}

static inline const float *gpt_value(const gpt_tensor *tensor)
{
  return tensor != NULL ? tensor->value : NULL;
}

#endif
