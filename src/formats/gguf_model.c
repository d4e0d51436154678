/* gguf_model.c - a table of layers as one of llama.cpp's architectures.
 *
 *     GPT-2   gpt2, with q, k and v in one matrix
 *     Llama   llama, which rotates neighbouring pairs: the rows of q and k change places; the
 *             factors of scaled angles are a tensor of their own
 *     Qwen2   qwen2        Qwen3   qwen3
 *
 * The paper's model is a qwen3 as well. Its norms have gains of one. It rotates the other way,
 * which is the same as rotating with the halves of each head of q and k exchanged. And with a
 * power of two a, silu(a h) (h / a) = h^2 / (1 + exp(-a h)), which is relu(h)^2 but for |h| of
 * some 10 / a, where both are below 100 / a^2: so gate = a Wfc and up = Wfc / a. Where numbers
 * have few exponents (F16, and the scales of Q8_0) a is smaller and shared with the last matrix.
 */
#include "formats/gguf_parts.h"
#include "gpt/choice.h"

#include <stdio.h>
#include <string.h>

static const char *architecture_of(const gpt_config *c)
{
  switch (family_of(c)) {
  case FAMILY_GPT2:
    return c->mlp == GPT_GELU_TANH ? "gpt2" : NULL;
  case FAMILY_LLAMA:
  case FAMILY_MISTRAL:
    return "llama";
  case FAMILY_QWEN2:
    return c->rope_scaling != GPT_SCALING_LLAMA3 ? "qwen2" : NULL;
  case FAMILY_QWEN3:
    return c->rope_scaling != GPT_SCALING_LLAMA3 && !c->qkv_bias ? "qwen3" : NULL;
  case FAMILY_NONE:
    break;
  }
  const bool papers = c->norm != GPT_LAYER_NORM && c->position != GPT_LEARNED &&
                      c->qk_norm != GPT_QK_NONE && c->rope_scaling != GPT_SCALING_LLAMA3 &&
                      (c->mlp == GPT_RELU2 || c->mlp == GPT_SWIGLU) && !c->qkv_bias &&
                      !c->proj_bias && !c->mlp_bias;
  return papers ? "qwen3" : NULL;
}

/* Q8_0 works on blocks of 32: a row that these do not divide is F16. */
static number_type type_for(const gguf_plan *plan, size_t cols)
{
  const number_type type = plan->model->type;
  return type == NUMBER_Q8_0 && cols % Q8_BLOCK != 0 ? NUMBER_F16 : type;
}

/* A matrix of `rows` rows that begins at ours; layer SIZE_MAX: none. */
static gguf_tensor *add_matrix(gguf_plan *plan, const char *name, size_t layer,
                               const gpt_tensor *ours, size_t rows)
{
  if (ours == NULL) return NULL;
  gguf_tensor *t = &plan->tensors[plan->count++];
  *t = (gguf_tensor){.source = ours->value,
                     .rows = rows,
                     .cols = ours->cols,
                     .head_size = plan->model->params->config.head_size,
                     .factor = 1,
                     .type = type_for(plan, ours->cols)};
  if (layer == SIZE_MAX)
    snprintf(t->name, sizeof t->name, "%s", name);
  else
    snprintf(t->name, sizeof t->name, "blk.%zu.%.32s", layer, name);
  return t;
}

/* A vector of `count` numbers; source NULL: ones. */
static gguf_tensor *add_vector(gguf_plan *plan, const char *name, size_t layer,
                               const float *source, size_t count)
{
  const gpt_tensor any = {.cols = count};
  gguf_tensor *t = add_matrix(plan, name, layer, &any, 0);
  t->source = source;
  t->type = NUMBER_F32;
  return t;
}

static void add_bias(gguf_plan *plan, const char *name, size_t layer, const gpt_tensor *ours,
                     size_t count, gguf_order order)
{
  if (ours != NULL) add_vector(plan, name, layer, ours->value, count)->order = order;
}

/* How llama.cpp's rotation of this architecture sees our heads. */
static gguf_order head_order(const gguf_plan *plan)
{
  if (strcmp(plan->architecture, "llama") == 0) return GGUF_PAIRS;
  return plan->model->params->config.position == GPT_ROPE ? GGUF_SWAPPED : GGUF_AS_IS;
}

static void add_attention(gguf_plan *plan, const gpt_layer *w, size_t layer)
{
  const gpt_config *c = &plan->model->params->config;
  const gguf_order order = head_order(plan);
  if (strcmp(plan->architecture, "gpt2") == 0) {
    add_matrix(plan, "attn_qkv.weight", layer, w->c_q, gpt_qkv_width(c));
    add_bias(plan, "attn_qkv.bias", layer, w->q_bias, gpt_qkv_width(c), GGUF_AS_IS);
  } else {
    /* gcc-suppress null-dereference - every model has c_q */
    add_matrix(plan, "attn_q.weight", layer, w->c_q, w->c_q->rows)->order = order;
    /* gcc-suppress null-dereference - and c_k */
    add_matrix(plan, "attn_k.weight", layer, w->c_k, w->c_k->rows)->order = order;
    add_matrix(plan, "attn_v.weight", layer, w->c_v, w->c_v->rows);
    add_bias(plan, "attn_q.bias", layer, w->q_bias, w->c_q->rows, order);
    add_bias(plan, "attn_k.bias", layer, w->k_bias, w->c_k->rows, order);
    add_bias(plan, "attn_v.bias", layer, w->v_bias, w->c_v->rows, GGUF_AS_IS);
  }
  if (strcmp(plan->architecture, "qwen3") == 0) {
    add_vector(plan, "attn_q_norm.weight", layer, gpt_value(w->q_gain), c->head_size)->order =
        order;
    add_vector(plan, "attn_k_norm.weight", layer, gpt_value(w->k_gain), c->head_size)->order =
        order;
  }
  add_matrix(plan, "attn_output.weight", layer, w->c_proj, w->c_proj->rows);
  add_bias(plan, "attn_output.bias", layer, w->c_proj_bias, c->n_embd, GGUF_AS_IS);
}

static void add_mlp(gguf_plan *plan, const gpt_layer *w, size_t layer)
{
  const gpt_config *c = &plan->model->params->config;
  const bool narrow = plan->model->type == NUMBER_F16 || plan->model->type == NUMBER_Q8_0;
  gguf_tensor *gate = NULL;
  if (w->gate != NULL || c->mlp == GPT_RELU2)
    gate = add_matrix(plan, "ffn_gate.weight", layer, w->gate != NULL ? w->gate : w->fc,
                      c->mlp_width);
  gguf_tensor *up = add_matrix(plan, "ffn_up.weight", layer, w->fc, c->mlp_width);
  gguf_tensor *down = add_matrix(plan, "ffn_down.weight", layer, w->proj, c->n_embd);
  if (c->mlp == GPT_RELU2) {
    gate->factor = narrow ? 0x1p10f : 0x1p20f;
    up->factor = narrow ? 0x1p-5f : 0x1p-20f;
    down->factor = narrow ? 0x1p-5f : 1.0f;
  }
  add_bias(plan, "ffn_gate.bias", layer, w->gate_bias, c->mlp_width, GGUF_AS_IS);
  add_bias(plan, "ffn_up.bias", layer, w->fc_bias, c->mlp_width, GGUF_AS_IS);
  add_bias(plan, "ffn_down.bias", layer, w->proj_bias, c->n_embd, GGUF_AS_IS);
}

static void add_norm(gguf_plan *plan, const char *name, size_t layer, const gpt_tensor *gain,
                     const gpt_tensor *bias)
{
  char full[48];
  const size_t width = plan->model->params->config.n_embd;
  snprintf(full, sizeof full, "%.30s.weight", name);
  add_vector(plan, full, layer, gpt_value(gain), width);
  snprintf(full, sizeof full, "%.30s.bias", name);
  add_bias(plan, full, layer, bias, width, GGUF_AS_IS);
}

static void add_tensors(gguf_plan *plan)
{
  const gpt_params *params = plan->model->params;
  const gpt_model_tensors *w = params->parts;
  const gpt_config *c = &params->config;
  add_matrix(plan, "token_embd.weight", SIZE_MAX, w->wte, c->vocab_size);
  if (w->wpe != NULL)
    add_matrix(plan, "position_embd.weight", SIZE_MAX, w->wpe, c->sequence_len)->type =
        NUMBER_F32;
  if (plan->frequencies != NULL)
    add_vector(plan, "rope_freqs.weight", SIZE_MAX, plan->frequencies, c->head_size / 2);
  for (size_t i = 0; i < c->n_layer; i++) {
    const gpt_layer layer = gpt_params_layer(params, i);
    add_norm(plan, "attn_norm", i, layer.ln1_gain, layer.ln1_bias);
    add_attention(plan, &layer, i);
    add_norm(plan, "ffn_norm", i, layer.ln2_gain, layer.ln2_bias);
    add_mlp(plan, &layer, i);
  }
  add_norm(plan, "output_norm", SIZE_MAX, w->ln_f_gain, w->ln_f_bias);
  add_matrix(plan, "output.weight", SIZE_MAX, w->lm_head, c->vocab_size);
}

/* What each angle is divided by. */
static mousse_status find_frequencies(gguf_plan *plan, mo_error *error)
{
  const gpt_config *c = &plan->model->params->config;
  if (c->rope_scaling != GPT_SCALING_LLAMA3) return MOUSSE_OK;
  const rope_angles scaled = gpt_rope_angles(c), plain = {.theta = c->rope_theta};
  plan->frequencies = mo_allocate(NULL, c->head_size / 2 * sizeof *plan->frequencies);
  if (plan->frequencies == NULL)
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for a table of angles");
  for (size_t j = 0; j < c->head_size / 2; j++)
    plan->frequencies[j] = (float)(rope_frequency(&plain, j, c->head_size) /
                                   rope_frequency(&scaled, j, c->head_size));
  return MOUSSE_OK;
}

mousse_status gguf_plan_open(gguf_plan *plan, const model_export *model, mo_error *error)
{
  const gpt_config *c = &model->params->config;
  *plan = (gguf_plan){.model = model, .architecture = architecture_of(c)};
  if (plan->architecture == NULL)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "llama.cpp has no architecture for this combination of layers; GPT-2, "
                   "Llama, Qwen2, Qwen3 and the paper's model can be written as GGUF");
  MO_TRY(find_frequencies(plan, error));
  plan->capacity = 6 + GGUF_LAYER_TENSORS * c->n_layer;
  plan->tensors = mo_allocate(NULL, plan->capacity * sizeof *plan->tensors);
  if (plan->tensors == NULL) {
    gguf_plan_close(plan);
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for a list of tensors");
  }
  add_tensors(plan);
  return MOUSSE_OK;
}

void gguf_plan_close(gguf_plan *plan)
{
  const size_t half = plan->model->params->config.head_size / 2;
  mo_release(NULL, plan->tensors, plan->capacity * sizeof *plan->tensors);
  mo_release(NULL, plan->frequencies, half * sizeof *plan->frequencies);
  *plan = (gguf_plan){.model = plan->model};
}

static void add_of(gguf_keys *keys, const gguf_plan *plan, const char *name, size_t value)
{
  char key[96];
  snprintf(key, sizeof key, "%s.%s", plan->architecture, name);
  gguf_add_size(keys, key, value);
}

static void add_number_of(gguf_keys *keys, const gguf_plan *plan, const char *name,
                          double value)
{
  char key[96];
  snprintf(key, sizeof key, "%s.%s", plan->architecture, name);
  gguf_add_number(keys, key, value);
}

static void add_rope(gguf_keys *keys, const gguf_plan *plan)
{
  char key[96];
  const gpt_config *c = &plan->model->params->config;
  if (c->position == GPT_LEARNED) return;
  add_of(keys, plan, "rope.dimension_count", c->head_size);
  add_number_of(keys, plan, "rope.freq_base", c->rope_theta);
  if (c->rope_scaling != GPT_SCALING_LINEAR) return;
  snprintf(key, sizeof key, "%s.rope.scaling.type", plan->architecture);
  gguf_add_text(keys, key, "linear");
  add_number_of(keys, plan, "rope.scaling.factor", c->rope_factor);
}

void gguf_add_model(gguf_keys *keys, const gguf_plan *plan)
{
  static const size_t file_types[] = {
      [NUMBER_F32] = 0, [NUMBER_F16] = 1, [NUMBER_BF16] = 32, [NUMBER_Q8_0] = 7};
  const gpt_config *c = &plan->model->params->config;
  gguf_add_text(keys, "general.architecture", plan->architecture);
  gguf_add_text(keys, "general.name", plan->model->name);
  gguf_add_size(keys, "general.file_type", file_types[plan->model->type]);
  gguf_add_size(keys, "general.quantization_version", 2);
  add_of(keys, plan, "context_length", c->sequence_len);
  add_of(keys, plan, "embedding_length", c->n_embd);
  add_of(keys, plan, "block_count", c->n_layer);
  add_of(keys, plan, "feed_forward_length", c->mlp_width);
  add_of(keys, plan, "attention.head_count", c->n_head);
  add_of(keys, plan, "attention.head_count_kv", c->n_kv_head);
  add_of(keys, plan, "attention.key_length", c->head_size);
  add_of(keys, plan, "attention.value_length", c->head_size);
  add_of(keys, plan, "vocab_size", c->vocab_size);
  add_number_of(keys, plan,
                c->norm == GPT_LAYER_NORM ? "attention.layer_norm_epsilon"
                                          : "attention.layer_norm_rms_epsilon",
                c->epsilon);
  add_rope(keys, plan);
}
