/* hf_config_write.c - a table of layers as config.json of transformers, and the tokens that end
 * a text. */
#include "base/file.h"
#include "base/json_text.h"
#include "formats/hf_config.h"

#include <string.h>

static json_t *size_json(size_t value)
{
  return json_integer((json_int_t)value);
}

static int set(json_t *object, const char *key, json_t *value)
{
  return json_object_set_new(object, key, value); /* refuses NULL */
}

static int fill_gpt2(json_t *o, const gpt_config *c)
{
  int failed = set(o, "n_embd", size_json(c->n_embd));
  failed |= set(o, "n_layer", size_json(c->n_layer));
  failed |= set(o, "n_head", size_json(c->n_head));
  failed |= set(o, "n_positions", size_json(c->sequence_len));
  failed |= set(o, "n_ctx", size_json(c->sequence_len));
  failed |= set(o, "n_inner", size_json(c->mlp_width));
  failed |=
      set(o, "activation_function", json_string(c->mlp == GPT_GELU ? "gelu" : "gelu_new"));
  failed |= set(o, "layer_norm_epsilon", json_real(c->epsilon));
  failed |= set(o, "scale_attn_weights", json_true());
  for (int i = 0; i < 3; i++) { /* we train without dropout */
    static const char *const drops[] = {"attn_pdrop", "embd_pdrop", "resid_pdrop"};
    failed |= set(o, drops[i], json_real(0));
  }
  return failed;
}

static json_t *scaling_json(const gpt_config *c)
{
  if (c->rope_scaling == GPT_SCALING_NONE) return json_null();
  if (c->rope_scaling == GPT_SCALING_LINEAR)
    return json_pack("{s:s, s:f}", "rope_type", "linear", "factor", c->rope_factor);
  return json_pack("{s:s, s:f, s:f, s:f, s:I}", "rope_type", "llama3", "factor", c->rope_factor,
                   "low_freq_factor", c->rope_low, "high_freq_factor", c->rope_high,
                   "original_max_position_embeddings", (json_int_t)c->rope_context);
}

static int fill_llama(json_t *o, const gpt_config *c, model_family family)
{
  int failed = set(o, "hidden_size", size_json(c->n_embd));
  failed |= set(o, "intermediate_size", size_json(c->mlp_width));
  failed |= set(o, "num_hidden_layers", size_json(c->n_layer));
  failed |= set(o, "num_attention_heads", size_json(c->n_head));
  failed |= set(o, "num_key_value_heads", size_json(c->n_kv_head));
  if (family != FAMILY_QWEN2) failed |= set(o, "head_dim", size_json(c->head_size));
  failed |= set(o, "hidden_act", json_string("silu"));
  failed |= set(o, "max_position_embeddings", size_json(c->sequence_len));
  failed |= set(o, "rms_norm_eps", json_real(c->epsilon));
  failed |= set(o, "rope_theta", json_real(c->rope_theta));
  failed |= set(o, "rope_scaling", scaling_json(c));
  failed |= set(o, "attention_dropout", json_real(0));
  if (family != FAMILY_QWEN2) failed |= set(o, "attention_bias", json_boolean(c->qkv_bias));
  if (family == FAMILY_LLAMA) failed |= set(o, "mlp_bias", json_boolean(c->mlp_bias));
  if (family != FAMILY_LLAMA) failed |= set(o, "use_sliding_window", json_false());
  return failed;
}

static const char *type_name(model_family family)
{
  switch (family) {
  case FAMILY_GPT2:
    return "gpt2";
  case FAMILY_LLAMA:
  case FAMILY_MISTRAL:
    return "llama";
  case FAMILY_QWEN2:
    return "qwen2";
  case FAMILY_QWEN3:
    return "qwen3";
  case FAMILY_NONE:
    break;
  }
  return "mousse";
}

void *hf_config_json(const gpt_config *config, number_type type, const mo_tokenizer *tokenizer)
{
  static const char *const types[] = {"float32", "float16", "bfloat16"};
  const gpt_config c = gpt_config_resolved(config);
  const model_family family = family_of(&c);
  json_t *o = json_pack("{s:[s], s:s, s:s}", "architectures", hf_architecture(family),
                        "model_type", type_name(family), "torch_dtype", types[type]);
  int failed = o == NULL;
  if (!failed && family == FAMILY_NONE) failed = gpt_config_fill_json(&c, o);
  if (!failed && family != FAMILY_NONE) {
    failed = set(o, "vocab_size", size_json(c.vocab_size));
    failed |= set(o, "tie_word_embeddings", json_boolean(c.tied));
    failed |= set(o, "use_cache", json_true());
    failed |= family == FAMILY_GPT2 ? fill_gpt2(o, &c) : fill_llama(o, &c, family);
  }
  if (!failed && tokenizer != NULL && tokenizer->end_of_text != TOKENIZER_NONE) {
    failed = set(o, "bos_token_id", size_json(tokenizer_first(tokenizer)));
    failed |= set(o, "eos_token_id", size_json(tokenizer->end_of_text));
  }
  if (!failed) return o;
  json_decref(o);
  return NULL;
}

static size_t ids_of(const json_t *value, uint32_t *tokens, size_t most)
{
  size_t count = 0;
  for (size_t i = 0; i < (json_is_array(value) ? json_array_size(value) : 1); i++) {
    const json_t *id = json_is_array(value) ? json_array_get(value, i) : value;
    if (!json_is_integer(id) || json_integer_value(id) < 0 ||
        json_integer_value(id) > UINT32_MAX - 1 || count == most)
      continue;
    tokens[count++] = (uint32_t)json_integer_value(id);
  }
  return count;
}

size_t format_end_tokens(const char *folder, uint32_t *tokens, size_t most)
{
  static const char *const names[] = {"generation_config.json", "config.json"};
  for (size_t i = 0; i < 2; i++) {
    char path[4096], *text = NULL;
    size_t size = 0, count = 0;
    if (mo_path_join(path, sizeof path, folder, names[i], NULL) != MOUSSE_OK ||
        mo_file_read(NULL, path, 1 << 20, &text, &size, NULL) != MOUSSE_OK)
      continue;
    json_t *object = NULL;
    (void)mo_json_parse(&object, path, text, size, MO_JSON_FEW, JSON_REJECT_DUPLICATES, NULL);
    mo_release(NULL, text, size + 1);
    count = ids_of(json_object_get(object, "eos_token_id"), tokens, most);
    json_decref(object);
    if (count > 0) return count;
  }
  return 0;
}
