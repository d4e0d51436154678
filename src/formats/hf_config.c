/* hf_config.c - reads config.json of transformers into a table of layers.
 *
 * A key that changes the model and that the table does not have is refused by its name; keys
 * that do not (dtype, version, names of tokens) are passed over.
 */
#include "formats/hf_config.h"

#include "base/file.h"
#include "base/json_text.h"

#include <string.h>

enum { LARGEST_CONFIG = 1 << 20 };

static const struct {
  const char *architecture, *type;
  model_family family;
} families[] = {{"GPT2LMHeadModel", "gpt2", FAMILY_GPT2},
                {"LlamaForCausalLM", "llama", FAMILY_LLAMA},
                {"MistralForCausalLM", "mistral", FAMILY_MISTRAL},
                {"Qwen2ForCausalLM", "qwen2", FAMILY_QWEN2},
                {"Qwen3ForCausalLM", "qwen3", FAMILY_QWEN3},
                {"MousseForCausalLM", "mousse", FAMILY_NONE}};
enum { FAMILY_COUNT = sizeof families / sizeof *families };

const char *hf_architecture(model_family family)
{
  for (size_t i = 0; i < FAMILY_COUNT; i++)
    if (families[i].family == family) return families[i].architecture;
  return "";
}

typedef struct source {
  const json_t *object;
  const char *path;
  mo_error *error;
} source;

#define REFUSE(s, ...) mo_fail((s)->error, MOUSSE_BAD_FORMAT, __VA_ARGS__)

static bool present(const source *s, const char *key)
{
  const json_t *value = json_object_get(s->object, key);
  return value != NULL && !json_is_null(value);
}

static mousse_status get_size(const source *s, const char *key, size_t fallback, size_t *value)
{
  const json_t *json = json_object_get(s->object, key);
  *value = fallback;
  if (!present(s, key)) {
    if (fallback > 0) return MOUSSE_OK;
    return REFUSE(s, "%s: %s is missing", s->path, key);
  }
  if (!json_is_integer(json) || json_integer_value(json) < 1)
    return REFUSE(s, "%s: %s is not a whole number of at least 1", s->path, key);
  *value = (size_t)json_integer_value(json);
  return MOUSSE_OK;
}

static mousse_status get_number(const source *s, const char *key, double fallback,
                                double *value)
{
  *value = fallback;
  if (!present(s, key)) return MOUSSE_OK;
  const json_t *json = json_object_get(s->object, key);
  if (!json_is_number(json)) return REFUSE(s, "%s: %s is not a number", s->path, key);
  *value = json_number_value(json);
  return MOUSSE_OK;
}

/* One that must be above 0, which stands for our own choice in a table. */
static mousse_status get_positive(const source *s, const char *key, double fallback,
                                  double *value)
{
  MO_TRY(get_number(s, key, fallback, value));
  if (*value > 0) return MOUSSE_OK;
  return REFUSE(s, "%s: %s is %g, expected a number above 0", s->path, key, *value);
}

static mousse_status get_switch(const source *s, const char *key, bool fallback, bool *value)
{
  *value = fallback;
  if (!present(s, key)) return MOUSSE_OK;
  const json_t *json = json_object_get(s->object, key);
  if (!json_is_boolean(json)) return REFUSE(s, "%s: %s is not true or false", s->path, key);
  *value = json_is_true(json);
  return MOUSSE_OK;
}

/* A switch that must have this value, or be absent. */
static mousse_status demand(const source *s, const char *key, bool wanted)
{
  bool value = wanted;
  MO_TRY(get_switch(s, key, wanted, &value));
  if (value == wanted) return MOUSSE_OK;
  return REFUSE(s, "%s: %s is %s, which is not supported", s->path, key,
                value ? "true" : "false");
}

static mousse_status refuse_present(const source *s, const char *key)
{
  if (!present(s, key)) return MOUSSE_OK;
  return REFUSE(s, "%s: has %s, which is not supported", s->path, key);
}

static mousse_status get_activation(const source *s, const char *key, const char *fallback,
                                    gpt_mlp *mlp)
{
  static const struct {
    const char *name;
    gpt_mlp mlp;
  } known[] = {{"gelu_new", GPT_GELU_TANH},
               {"gelu_pytorch_tanh", GPT_GELU_TANH},
               {"gelu", GPT_GELU},
               {"silu", GPT_SWIGLU}};
  const json_t *json = json_object_get(s->object, key);
  const char *name = json == NULL ? fallback : json_string_value(json);
  const bool gated = strcmp(fallback, "silu") == 0;
  for (size_t i = 0; name != NULL && i < sizeof known / sizeof *known; i++) {
    if (strcmp(name, known[i].name) != 0 || (known[i].mlp == GPT_SWIGLU) != gated) continue;
    *mlp = known[i].mlp;
    return MOUSSE_OK;
  }
  return REFUSE(s, "%s: %s '%.40s' is not supported; %s", s->path, key,
                name != NULL ? name : "(not text)",
                gated ? "silu is" : "gelu, gelu_new and gelu_pytorch_tanh are");
}

static mousse_status read_gpt2(const source *s, gpt_config *c)
{
  MO_TRY(get_size(s, "vocab_size", 0, &c->vocab_size));
  MO_TRY(get_size(s, "n_embd", 0, &c->n_embd));
  MO_TRY(get_size(s, "n_layer", 0, &c->n_layer));
  MO_TRY(get_size(s, "n_head", 0, &c->n_head));
  MO_TRY(get_size(s, "n_positions", 1024, &c->sequence_len));
  MO_TRY(get_size(s, "n_inner", 4 * c->n_embd, &c->mlp_width));
  MO_TRY(get_activation(s, "activation_function", "gelu_new", &c->mlp));
  MO_TRY(get_positive(s, "layer_norm_epsilon", 1e-5, &c->epsilon));
  MO_TRY(get_switch(s, "tie_word_embeddings", true, &c->tied));
  MO_TRY(demand(s, "scale_attn_weights", true));
  MO_TRY(demand(s, "scale_attn_by_inverse_layer_idx", false));
  MO_TRY(demand(s, "add_cross_attention", false));
  c->norm = GPT_LAYER_NORM;
  c->position = GPT_LEARNED;
  c->qk_norm = GPT_QK_NONE;
  c->qkv_bias = c->proj_bias = c->mlp_bias = true;
  return MOUSSE_OK;
}

/* rope_scaling, or, since version 5, rope_parameters with theta in it. */
static mousse_status read_rope(const source *s, gpt_config *c)
{
  MO_TRY(get_positive(s, "rope_theta", 10000, &c->rope_theta));
  const char *key = present(s, "rope_parameters") ? "rope_parameters" : "rope_scaling";
  const source inner = {json_object_get(s->object, key), s->path, s->error};
  if (!present(s, key)) return MOUSSE_OK;
  if (!json_is_object(inner.object)) return REFUSE(s, "%s: %s is not an object", s->path, key);
  const json_t *kind = json_object_get(inner.object, "rope_type");
  if (kind == NULL) kind = json_object_get(inner.object, "type");
  const char *name = kind != NULL ? json_string_value(kind) : "default";
  MO_TRY(get_positive(&inner, "rope_theta", c->rope_theta, &c->rope_theta));
  if (name != NULL && strcmp(name, "default") == 0) return MOUSSE_OK;
  MO_TRY(get_number(&inner, "factor", 0, &c->rope_factor));
  c->rope_scaling = GPT_SCALING_LINEAR;
  if (name != NULL && strcmp(name, "linear") == 0) return MOUSSE_OK;
  c->rope_scaling = GPT_SCALING_LLAMA3;
  MO_TRY(get_number(&inner, "low_freq_factor", 0, &c->rope_low));
  MO_TRY(get_number(&inner, "high_freq_factor", 0, &c->rope_high));
  MO_TRY(get_number(&inner, "original_max_position_embeddings", 0, &c->rope_context));
  if (name != NULL && strcmp(name, "llama3") == 0) return MOUSSE_OK;
  return REFUSE(s, "%s: %s of type '%.40s' is not supported; default, linear and llama3 are",
                s->path, key, name != NULL ? name : "(not text)");
}

/* Within a window attention is full: the context ends where the window does. A Mistral that says
 * nothing of one has the library's; one that says null has none. */
static mousse_status read_window(const source *s, model_family family, gpt_config *c)
{
  enum { MISTRAL_WINDOW = 4096 };
  size_t window = 0;
  if (family == FAMILY_QWEN2 || family == FAMILY_QWEN3)
    return demand(s, "use_sliding_window", false);
  if (family != FAMILY_MISTRAL || json_is_null(json_object_get(s->object, "sliding_window")))
    return MOUSSE_OK;
  MO_TRY(get_size(s, "sliding_window", MISTRAL_WINDOW, &window));
  if (window < c->sequence_len) c->sequence_len = window;
  return MOUSSE_OK;
}

/* A family's layers that have no such switch pay no heed to the key: Mistral has no biases, Qwen2
 * those of q, k and v. */
static mousse_status read_biases(const source *s, model_family family, gpt_config *c)
{
  if (family == FAMILY_LLAMA || family == FAMILY_QWEN3)
    MO_TRY(get_switch(s, "attention_bias", false, &c->qkv_bias));
  if (family == FAMILY_LLAMA) MO_TRY(get_switch(s, "mlp_bias", false, &c->mlp_bias));
  c->proj_bias = c->qkv_bias;
  if (family == FAMILY_QWEN2) c->qkv_bias = true;
  return MOUSSE_OK;
}

static mousse_status read_llama(const source *s, model_family family, gpt_config *c)
{
  MO_TRY(get_size(s, "vocab_size", 0, &c->vocab_size));
  MO_TRY(get_size(s, "hidden_size", 0, &c->n_embd));
  MO_TRY(get_size(s, "num_hidden_layers", 0, &c->n_layer));
  MO_TRY(get_size(s, "num_attention_heads", 0, &c->n_head));
  MO_TRY(get_size(s, "num_key_value_heads", c->n_head, &c->n_kv_head));
  MO_TRY(get_size(s, "intermediate_size", 0, &c->mlp_width));
  MO_TRY(get_size(s, "max_position_embeddings", 2048, &c->sequence_len));
  if (present(s, "head_dim")) MO_TRY(get_size(s, "head_dim", 0, &c->head_size));
  if (family == FAMILY_QWEN3 && c->head_size == 0) c->head_size = 128;
  MO_TRY(get_activation(s, "hidden_act", "silu", &c->mlp));
  MO_TRY(get_positive(s, "rms_norm_eps", 1e-6, &c->epsilon));
  MO_TRY(get_switch(s, "tie_word_embeddings", false, &c->tied));
  MO_TRY(read_biases(s, family, c));
  MO_TRY(read_rope(s, c));
  MO_TRY(read_window(s, family, c));
  c->norm = GPT_RMS_GAIN;
  c->position = GPT_ROPE_LLAMA;
  c->qk_norm = family == FAMILY_QWEN3 ? GPT_QK_GAIN : GPT_QK_NONE;
  return MOUSSE_OK;
}

/* false: the file is our own. */
static bool names_architecture(const source *s)
{
  return json_is_object(s->object) && (present(s, "architectures") || present(s, "model_type"));
}

static mousse_status find_family(const source *s, model_family *family)
{
  const json_t *list = json_object_get(s->object, "architectures");
  const char *name = json_string_value(json_array_get(list, 0));
  const char *type = json_string_value(json_object_get(s->object, "model_type"));
  for (size_t i = 0; i < FAMILY_COUNT; i++) {
    const bool found = name != NULL ? strcmp(name, families[i].architecture) == 0
                                    : type != NULL && strcmp(type, families[i].type) == 0;
    if (!found) continue;
    *family = families[i].family;
    return MOUSSE_OK;
  }
  return REFUSE(s,
                "%s: the architecture '%.60s' is not supported; GPT2LMHeadModel, "
                "LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM and Qwen3ForCausalLM "
                "are",
                s->path,
                name != NULL   ? name
                : type != NULL ? type
                               : "(not text)");
}

/* Qwen's lists of layers: a window in one of them is a window. */
static mousse_status check_layer_types(const source *s)
{
  const json_t *types = json_object_get(s->object, "layer_types"), *type = NULL;
  size_t index = 0;
  if (present(s, "layer_types") && !json_is_array(types))
    return REFUSE(s, "%s: layer_types is not a list", s->path);
  json_array_foreach(types, index, type)
  {
    const char *name = json_string_value(type);
    if (name == NULL || strcmp(name, "full_attention") != 0)
      return REFUSE(s, "%s: layer_types has '%.40s', which is not supported", s->path,
                    name != NULL ? name : "(not text)");
  }
  return MOUSSE_OK;
}

/* What relatives of these families have and files under their names could ask for. */
static mousse_status refuse_unsupported(const source *s)
{
  static const char *const keys[] = {"quantization_config",
                                     "attn_logit_softcapping",
                                     "final_logit_softcapping",
                                     "query_pre_attn_scalar",
                                     "clip_qkv",
                                     "logit_scale",
                                     "logits_scaling",
                                     "residual_multiplier",
                                     "embedding_multiplier",
                                     "attention_multiplier",
                                     "num_experts",
                                     "num_local_experts",
                                     "no_rope_layers",
                                     "q_lora_rank"};
  double rotated = 1;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) MO_TRY(refuse_present(s, keys[i]));
  MO_TRY(demand(s, "rope_interleaved", false));
  MO_TRY(get_number(s, "partial_rotary_factor", 1, &rotated));
  if (rotated != 1)
    return REFUSE(s, "%s: partial_rotary_factor is %g, expected 1", s->path, rotated);
  return check_layer_types(s);
}

static mousse_status read_foreign(const source *s, model_family *family, gpt_config *config)
{
  gpt_config c = {0};
  mo_error cause = {{0}};
  MO_TRY(find_family(s, family));
  if (*family == FAMILY_NONE) return gpt_config_from_json(config, s->path, s->object, s->error);
  MO_TRY(refuse_unsupported(s));
  if (*family == FAMILY_GPT2)
    MO_TRY(read_gpt2(s, &c));
  else
    MO_TRY(read_llama(s, *family, &c));
  if (gpt_config_check(&c, &cause) != MOUSSE_OK)
    return REFUSE(s, "%s: %s", s->path, cause.text);
  *config = c;
  return MOUSSE_OK;
}

mousse_status hf_parse_config(gpt_config *config, bool *foreign, model_family *family,
                              const char *path, const char *text, size_t size, mo_error *error)
{
  mousse_status status = MOUSSE_OK;
  json_t *object = NULL;
  MO_TRY(mo_json_parse(&object, path, text, size, MO_JSON_FEW, JSON_REJECT_DUPLICATES, error));
  const source s = {object, path, error};
  *family = FAMILY_NONE;
  *foreign = names_architecture(&s);
  if (*foreign)
    status = read_foreign(&s, family, config);
  else
    status = gpt_config_from_json(config, path, object, error);
  json_decref(object);
  return status;
}

mousse_status hf_load_config(gpt_config *config, bool *foreign, model_family *family,
                             const char *folder, mo_error *error)
{
  char path[4096], *text = NULL;
  size_t size = 0;
  MO_TRY(mo_path_join(path, sizeof path, folder, "config.json", error));
  MO_TRY(mo_file_read(NULL, path, LARGEST_CONFIG, &text, &size, error));
  const mousse_status status =
      hf_parse_config(config, foreign, family, path, text, size, error);
  mo_release(NULL, text, size + 1);
  return status;
}

model_family family_of(const gpt_config *config)
{
  const gpt_config c = gpt_config_resolved(config);
  const bool square = c.head_size * c.n_head == c.n_embd;
  if (c.norm == GPT_LAYER_NORM && c.position == GPT_LEARNED && c.qk_norm == GPT_QK_NONE &&
      c.mlp != GPT_SWIGLU && c.mlp != GPT_RELU2 && c.qkv_bias && c.proj_bias && c.mlp_bias &&
      c.n_kv_head == c.n_head && square)
    return FAMILY_GPT2;
  if (c.norm != GPT_RMS_GAIN || c.position != GPT_ROPE_LLAMA || c.mlp != GPT_SWIGLU)
    return FAMILY_NONE;
  if (c.qk_norm == GPT_QK_NONE && c.qkv_bias == c.proj_bias) return FAMILY_LLAMA;
  if (c.qk_norm == GPT_QK_NONE && c.qkv_bias && !c.mlp_bias && square) return FAMILY_QWEN2;
  if (c.qk_norm == GPT_QK_GAIN && c.qkv_bias == c.proj_bias && !c.mlp_bias) return FAMILY_QWEN3;
  return FAMILY_NONE;
}
