/* choice.h - the layers that a model's table chooses between, under one name for each place.
 *
 * forward.c, backward.c and generate.c call these and stay lines of layers; c is a resolved
 * table (gpt_params.config).
 */
#ifndef MOUSSE_GPT_CHOICE_H
#define MOUSSE_GPT_CHOICE_H

#include "gpt/layers/layers.h"
#include "gpt/params.h"

/* Where a norm of the model has its gain and bias; both NULL without. */
typedef struct gpt_norm_tensors {
  const gpt_tensor *gain, *bias;
} gpt_norm_tensors;

/* y and normal are the same array when the norm has no gain. */
void gpt_norm_forward(const gpt_config *c, gpt_norm_tensors w, float *y, float *normal,
                      float *r, const float *x, size_t rows);
/* d_x = add + gradient; d_y is used up. d_gain and d_bias take the sums over these rows. */
void gpt_norm_backward(const gpt_config *c, gpt_norm_tensors w, float *d_x, const float *add,
                       float *d_y, float *d_gain, float *d_bias, const float *normal,
                       const float *r, size_t rows);

/* Numbers of a row between the MLP's products: behind the first, and before the second. */
static inline size_t gpt_hidden_width(const gpt_config *c)
{
  return c->mlp == GPT_SWIGLU ? 2 * c->mlp_width : c->mlp_width;
}
static inline const gpt_tensor *gpt_hidden_matrix(const gpt_layer *w)
{
  return w->gate != NULL ? w->gate : w->fc;
}
static inline const gpt_tensor *gpt_hidden_bias(const gpt_layer *w)
{
  return w->gate_bias != NULL ? w->gate_bias : w->fc_bias;
}
/* relu2 forgets its input: hidden and active are the same array, and so are the gradients, also
 * those of gelu. */
void gpt_mlp_forward(const gpt_config *c, float *active, float *hidden, size_t rows);
/* active is computed again from hidden, for the weights' gradients. */
void gpt_mlp_backward(const gpt_config *c, float *d_hidden, float *active,
                      const float *d_active, const float *hidden, size_t rows);

static inline size_t gpt_qkv_width(const gpt_config *c)
{
  return (c->n_head + 2 * c->n_kv_head) * c->head_size;
}
/* A layer's vectors: those of the first norm and of q, k and v, then those behind attention. */
static inline const gpt_tensor *gpt_first_vector(const gpt_layer *w)
{
  if (w->ln1_gain != NULL) return w->ln1_gain;
  if (w->q_bias != NULL) return w->q_bias;
  if (w->c_proj_bias != NULL) return w->c_proj_bias;
  return gpt_hidden_bias(w); /* NULL: there are none */
}
static inline size_t gpt_input_vectors(const gpt_config *c) /* numbers in the first part */
{
  const size_t norm = c->norm == GPT_RMS ? 0 : c->norm == GPT_RMS_GAIN ? 1 : 2;
  return norm * c->n_embd + (c->qkv_bias ? gpt_qkv_width(c) : 0);
}
static inline bool gpt_keeps_hidden(const gpt_config *c) /* apart from what is active */
{
  return c->mlp != GPT_RELU2;
}
static inline size_t gpt_angles(const gpt_config *c, size_t positions)
{
  return positions * (c->head_size / 2);
}
rope_angles gpt_rope_angles(const gpt_config *c);
void gpt_position_tables(const gpt_config *c, float *cosines, float *sines, size_t positions);
/* What happens to q and k between projection and attention; normal only with GPT_QK_GAIN. */
void gpt_heads_forward(const gpt_config *c, const gpt_layer *w, float *qkv, float *normal,
                       float *r, rope_heads heads);

/* One head of q or k of one sequence; gain NULL without. */
typedef struct gpt_head_gradient {
  float *d, *d_gain;
  const float *y, *normal, *r, *gain;
  const float *cosines, *sines;
} gpt_head_gradient;
void gpt_head_backward(const gpt_config *c, const gpt_head_gradient *head, size_t rows);

#endif
