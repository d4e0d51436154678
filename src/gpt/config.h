/* config.h - a model described by a table: its sizes, and which layer it uses in each place.
 *
 * A member that is 0 is the paper's choice, so {sizes} alone is the paper's model. The names are
 * those of config.json; config.def lists them once more, for reading, writing and comparing.
 */
#ifndef MOUSSE_GPT_CONFIG_H
#define MOUSSE_GPT_CONFIG_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum gpt_norm {
  GPT_RMS,       /* x / sqrt(mean(x^2) + epsilon) */
  GPT_RMS_GAIN,  /* ... times a gain */
  GPT_LAYER_NORM /* (x - mean) / sqrt(variance + epsilon), times a gain, plus a bias */
} gpt_norm;

typedef enum gpt_position {
  GPT_ROPE,       /* rotary, turned by -a: the paper's */
  GPT_ROPE_LLAMA, /* rotary, turned by +a: Llama's and its relatives' */
  GPT_LEARNED     /* a row of a table, added to the embedding */
} gpt_position;

typedef enum gpt_qk_norm {
  GPT_QK_RMS, /* every head of q and k is normalised, without gain */
  GPT_QK_NONE,
  GPT_QK_GAIN /* normalised, times a gain that all heads of q (of k) share, then rotated */
} gpt_qk_norm;

typedef enum gpt_mlp {
  GPT_RELU2,     /* proj relu(fc x)^2 */
  GPT_GELU,      /* proj gelu(fc x) with the error function */
  GPT_GELU_TANH, /* ... with tanh, as GPT-2 has it */
  GPT_SWIGLU     /* proj (silu(gate x) * fc x) */
} gpt_mlp;

typedef enum gpt_rope_scaling {
  GPT_SCALING_NONE,
  GPT_SCALING_LINEAR, /* every angle divided by rope_factor */
  GPT_SCALING_LLAMA3  /* slow angles divided by it, fast ones kept, smooth between them */
} gpt_rope_scaling;

typedef struct gpt_config {
  size_t vocab_size, n_layer, n_head, n_embd, sequence_len;
  size_t n_kv_head; /* heads of keys and values, shared by equally many of q; 0: n_head */
  size_t head_size; /* 0: n_embd / n_head */
  size_t mlp_width; /* 0: 4 n_embd */
  gpt_norm norm;
  gpt_position position;
  gpt_qk_norm qk_norm;
  gpt_mlp mlp;
  gpt_rope_scaling rope_scaling;
  bool qkv_bias, proj_bias, mlp_bias; /* of q, k, v; of the attention's output; of the MLP */
  bool tied;                          /* the embedding is also the head */
  double epsilon;                     /* of all norms; 0: FLT_EPSILON */
  double rope_theta;                  /* 0: 10000 */
  double rope_factor, rope_low, rope_high, rope_context; /* of the scaling */
  size_t lora_rank;       /* of the adapters beside frozen matrices; 0: there are none */
  double lora_alpha;      /* they are scaled by alpha / rank; 0: alpha is twice the rank */
  char lora_targets[128]; /* hidden matrices that have one, by their names; "": all */
} gpt_config;

/* The table with every 0 replaced by what it stands for. */
gpt_config gpt_config_resolved(const gpt_config *config);
/* The same model without adapters. */
gpt_config gpt_config_base(const gpt_config *config);
bool gpt_config_equal(const gpt_config *a, const gpt_config *b);
mousse_status gpt_config_check(const gpt_config *config, mo_error *error);
/* "162M", "nano", "gpt2", ...; an unknown name is answered with the list. */
mousse_status gpt_preset(const char *name, gpt_config *config, mo_error *error);
const char *gpt_preset_name(size_t index); /* NULL past the last */
size_t gpt_parameter_count(const gpt_config *config);
/* Operations of forward and backward per token, causal attention counted once. */
double gpt_flops_per_token(const gpt_config *config, size_t sequence);

/* config.json. A file of another program is read by src/formats. */
mousse_status gpt_save_config(const gpt_config *config, const char *path, mo_error *error);
mousse_status gpt_load_config(gpt_config *config, const char *path, mo_error *error);
/* The same as text in memory; path is for messages. */
mousse_status gpt_parse_config(gpt_config *config, const char *path, const char *text,
                               size_t size, mo_error *error);
/* The same as Jansson's objects (json_t). fill adds the members to an object; 0: done. */
mousse_status gpt_config_from_json(gpt_config *config, const char *path, const void *object,
                                   mo_error *error);
int gpt_config_fill_json(const gpt_config *config, void *object);

#endif
