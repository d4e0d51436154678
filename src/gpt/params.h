/* params.h - where in the list of tensors each part of the model is. */
#ifndef MOUSSE_GPT_PARAMS_H
#define MOUSSE_GPT_PARAMS_H

#include "gpt/gpt.h"

/* One layer's tensors; c_q, c_k and c_v, back to back, are also one 3C x C matrix at c_q. */
typedef struct gpt_layer {
#define GPT_TENSOR(field, name, rows, cols, role, deviation)
#define GPT_LAYER_TENSOR(field, name, rows, cols, role, deviation) const gpt_tensor *field;
#include "gpt/params.def"
#undef GPT_TENSOR
#undef GPT_LAYER_TENSOR
} gpt_layer;

/* Refuses the first token outside the vocabulary; what is "token" or "target". */
mousse_status gpt_check_tokens(const gpt_params *params, const char *what,
                               const uint32_t *tokens, size_t count, mo_error *error);

gpt_layer gpt_params_layer(const gpt_params *params, size_t layer);
const gpt_tensor *gpt_params_wte(const gpt_params *params);
const gpt_tensor *gpt_params_head(const gpt_params *params);

#endif
