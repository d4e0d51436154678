/* choice.c - which layer a model's table means. */
#include "gpt/choice.h"

void gpt_norm_forward(const gpt_config *c, gpt_norm_tensors w, float *y, float *normal,
                      float *r, const float *x, size_t rows)
{
  if (c->norm == GPT_LAYER_NORM)
    layernorm_forward(normal, r, x, rows, c->n_embd, (float)c->epsilon);
  else
    rmsnorm_forward(normal, r, x, rows, c->n_embd, (float)c->epsilon);
  if (w.gain != NULL)
    gain_forward(y, normal, w.gain->value, gpt_value(w.bias), rows, c->n_embd);
}

void gpt_norm_backward(const gpt_config *c, gpt_norm_tensors w, float *d_x, const float *add,
                       float *d_y, float *d_gain, float *d_bias, const float *normal,
                       const float *r, size_t rows)
{
  if (w.gain != NULL)
    gain_backward(d_y, d_gain, d_bias, d_y, normal, w.gain->value, rows, c->n_embd);
  if (c->norm == GPT_LAYER_NORM)
    layernorm_backward(d_x, add, d_y, normal, r, rows, c->n_embd);
  else
    rmsnorm_backward(d_x, add, d_y, normal, r, rows, c->n_embd);
}

void gpt_mlp_forward(const gpt_config *c, float *active, float *hidden, size_t rows)
{
  const size_t width = c->mlp_width;
  switch (c->mlp) {
  case GPT_RELU2:
    relu2_forward(hidden, rows * width);
    break;
  case GPT_GELU:
    gelu_forward(active, hidden, rows * width);
    break;
  case GPT_GELU_TANH:
    gelu_tanh_forward(active, hidden, rows * width);
    break;
  case GPT_SWIGLU:
    swiglu_forward(active, hidden, rows, width);
    break;
  }
}

void gpt_mlp_backward(const gpt_config *c, float *d_hidden, float *active,
                      const float *d_active, const float *hidden, size_t rows)
{
  const size_t width = c->mlp_width;
  switch (c->mlp) {
  case GPT_RELU2:
    relu2_backward(d_hidden, hidden, rows * width);
    break;
  case GPT_GELU:
    gelu_forward(active, hidden, rows * width);
    gelu_backward(d_hidden, hidden, rows * width);
    break;
  case GPT_GELU_TANH:
    gelu_tanh_forward(active, hidden, rows * width);
    gelu_tanh_backward(d_hidden, hidden, rows * width);
    break;
  case GPT_SWIGLU:
    swiglu_backward(d_hidden, active, d_active, hidden, rows, width);
    break;
  }
}

rope_angles gpt_rope_angles(const gpt_config *c)
{
  rope_angles angles = {.theta = c->rope_theta};
  if (c->position != GPT_LEARNED) angles.direction = c->position == GPT_ROPE ? -1 : 1;
  if (c->rope_scaling != GPT_SCALING_NONE) angles.factor = c->rope_factor;
  if (c->rope_scaling == GPT_SCALING_LLAMA3) {
    angles.low = c->rope_low;
    angles.high = c->rope_high;
    angles.context = c->rope_context;
  }
  return angles;
}

void gpt_position_tables(const gpt_config *c, float *cosines, float *sines, size_t positions)
{
  const rope_angles angles = gpt_rope_angles(c);
  rope_tables(cosines, sines, positions, c->head_size, &angles);
}

void gpt_heads_forward(const gpt_config *c, const gpt_layer *w, float *qkv, float *normal,
                       float *r, rope_heads heads)
{
  heads.heads = c->n_head + c->n_kv_head;
  heads.head_size = c->head_size;
  heads.stride = gpt_qkv_width(c);
  if (c->qk_norm == GPT_QK_RMS)
    rope_norm_forward(qkv, r, &heads, (float)c->epsilon);
  else if (c->qk_norm == GPT_QK_GAIN)
    qk_gain_forward(qkv, normal, r, w->q_gain->value, w->k_gain->value, c->n_head, &heads,
                    (float)c->epsilon);
  else if (c->position != GPT_LEARNED)
    rope_forward(qkv, &heads);
}

void gpt_head_backward(const gpt_config *c, const gpt_head_gradient *h, size_t rows)
{
  const size_t stride = gpt_qkv_width(c), heads = c->n_head + c->n_kv_head;
  if (c->qk_norm == GPT_QK_RMS)
    rope_norm_backward(h->d, h->y, h->r, h->cosines, h->sines, rows, c->head_size, stride,
                       heads);
  else if (c->qk_norm == GPT_QK_GAIN)
    qk_gain_backward(h->d, h->d_gain, h->normal, heads * c->head_size, h->r, heads, h->gain,
                     h->cosines, h->sines, rows, c->head_size, stride);
  else if (c->position != GPT_LEARNED)
    rope_backward(h->d, h->cosines, h->sines, rows, c->head_size, stride);
}
