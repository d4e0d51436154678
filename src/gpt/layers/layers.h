/* layers.h - the layers of the model as pure functions on row-major floats, one thread each.
 *
 * Rows are token positions. Forward functions write y from x; backward functions write the
 * gradient of the input from the gradient d_y of the output and what forward kept. Callers
 * spread rows, heads or sequences over threads; every function here is deterministic.
 */
#ifndef MOUSSE_GPT_LAYERS_LAYERS_H
#define MOUSSE_GPT_LAYERS_LAYERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* embedding.c: y[t] = table[token[t]] */
void embedding_forward(float *y, const float *table, const uint32_t *tokens, size_t rows,
                       size_t width);
/* d_table[token[t]] += d_y[t] for columns [first, last) only: the caller's share. */
void embedding_backward(float *d_table, const float *d_y, const uint32_t *tokens, size_t rows,
                        size_t width, size_t first, size_t last);

/* position_embedding.c: y[t] += table[p], p = first + t modulo length; d_table[p] += d_y[t] for
 * columns [first, last). */
void position_embedding_forward(float *y, const float *table, size_t first, size_t rows,
                                size_t length, size_t width);
void position_embedding_backward(float *d_table, const float *d_y, size_t rows, size_t length,
                                 size_t width, size_t first, size_t last);

/* linear.c: weight is outputs x inputs. */
void linear_forward(float *y, const float *x, const float *weight, size_t rows, size_t inputs,
                    size_t outputs);
/* y += x * weight^T */
void linear_forward_add(float *y, const float *x, const float *weight, size_t rows,
                        size_t inputs, size_t outputs);
/* d_x = d_y * weight */
void linear_backward(float *d_x, const float *d_y, const float *weight, size_t rows,
                     size_t inputs, size_t outputs);

/* linear_vector.c: y[j] (+)= dot(x, weight[j]) for j in [first, last), one row. */
void linear_vector(float *y, const float *x, const float *weight, size_t inputs, size_t first,
                   size_t last, int add);
/* The same for weights in blocks of 8 bits (base/q8.h), of which inputs is a multiple: a block is
 * 8 words, of which word i has numbers i, i + 8, i + 16 and i + 24 from its lowest byte on. */
void linear_vector_q8(float *y, const float *x, const uint32_t *blocks, const float *scales,
                      size_t inputs, size_t first, size_t last, int add);
void linear_pack_q8(const int8_t *numbers, uint32_t *block);

/* lora.c: y += (scale x a^T) b^T beside a frozen matrix; low keeps what is in the bracket. */
typedef struct lora_weights {
  const float *a, *b; /* rank x inputs, outputs x rank */
  size_t inputs, outputs, rank;
  float scale;
} lora_weights;
void lora_forward(float *y, size_t y_stride, float *low, const float *x, const lora_weights *w,
                  size_t rows);
void lora_backward_low(float *d_low, const float *d_y, size_t d_y_stride, const lora_weights *w,
                       size_t rows);
/* d_x += d_low a */
void lora_backward(float *d_x, const float *d_low, const lora_weights *w, size_t rows);
/* weight += scale b a: from then on the adapter is part of it. */
void lora_merge(float *weight, const lora_weights *w);

/* bias.c: y += bias in every row; d_bias = the sum of d_y's rows. bias NULL: nothing. */
void bias_forward(float *y, const float *bias, size_t rows, size_t width);
void bias_backward(float *d_bias, const float *d_y, size_t rows, size_t width);

/* rmsnorm.c: y = x * r, r = 1 / sqrt(mean(x^2) + epsilon), one r per row. */
void rmsnorm_forward(float *y, float *r, const float *x, size_t rows, size_t width,
                     float epsilon);
/* d_x = add + the gradient; add may be d_x itself. */
void rmsnorm_backward(float *d_x, const float *add, const float *d_y, const float *y,
                      const float *r, size_t rows, size_t width);

/* layernorm.c: y = (x - mean) r, r = 1 / sqrt(variance + epsilon); otherwise as rmsnorm.c. */
void layernorm_forward(float *y, float *r, const float *x, size_t rows, size_t width,
                       float epsilon);
void layernorm_backward(float *d_x, const float *add, const float *d_y, const float *y,
                        const float *r, size_t rows, size_t width);

/* gain.c: y = x * gain (+ bias); bias may be NULL. Backward sets d_x (may be d_y), d_gain and,
 * unless NULL, d_bias: the sums over these rows. */
void gain_forward(float *y, const float *x, const float *gain, const float *bias, size_t rows,
                  size_t width);
void gain_backward(float *d_x, float *d_gain, float *d_bias, const float *d_y, const float *x,
                   const float *gain, size_t rows, size_t width);

/* rope_tables.c: cosines and sines of the angles, positions x head_size / 2 each. */
typedef struct rope_angles {
  double theta;
  int direction; /* -1: turned by -a, as the paper has it; +1: by +a; 0: not at all */
  double factor; /* > 1: angles are divided by it, all ... */
  double low, high, context; /* ... or, with context > 0, slow ones only */
} rope_angles;
double rope_frequency(const rope_angles *angles, size_t pair, size_t head_size);
void rope_tables(float *cosines, float *sines, size_t positions, size_t head_size,
                 const rope_angles *angles);

/* The heads of q and k that rotation works on: rows `stride` apart begin with heads * head_size
 * numbers; position of row i: first + i modulo length. */
typedef struct rope_heads {
  size_t heads, head_size, stride;
  size_t first, rows, length;
  const float *cosines, *sines;
} rope_heads;

/* rope.c: rotates in place. */
void rope_forward(float *x, const rope_heads *heads);
/* One head of one sequence, rows at positions 0, 1, ..., `stride` apart. */
void rope_backward(float *d, const float *cosines, const float *sines, size_t rows,
                   size_t head_size, size_t stride);

/* rope_norm.c: rotates, then normalises, each head in place; r takes `heads` numbers a row. */
void rope_norm_forward(float *x, float *r, const rope_heads *heads, float epsilon);
/* One head of one sequence, rows at positions 0, 1, ...: d becomes the gradient of the
 * projection from that of the normalised vector y. Rows of d and y are `stride` apart, the
 * numbers r `r_stride` apart. */
void rope_norm_backward(float *d, const float *y, const float *r, const float *cosines,
                        const float *sines, size_t rows, size_t head_size, size_t stride,
                        size_t r_stride);

/* qk_gain.c: normalises each head (what comes out goes to `normal`, heads * head_size a row),
 * multiplies by the gain of q (the first q_heads) or of k, rotates. */
void qk_gain_forward(float *x, float *normal, float *r, const float *q_gain,
                     const float *k_gain, size_t q_heads, const rope_heads *heads,
                     float epsilon);
/* One head of one sequence: d becomes the gradient of the projection, d_gain is added to. */
void qk_gain_backward(float *d, float *d_gain, const float *normal, size_t normal_stride,
                      const float *r, size_t r_stride, const float *gain, const float *cosines,
                      const float *sines, size_t rows, size_t head_size, size_t stride);

/* attention.c: causal softmax attention of one head. */
enum { ATTENTION_BLOCK = 64 };              /* query rows handled together */
size_t attention_scratch(size_t positions); /* floats for either direction */
/* Query rows at positions first, first + 1, ... (at most ATTENTION_BLOCK) against keys and
 * values at positions 0, 1, ...; log_sum (may be NULL) takes each row's log of the sum. starts:
 * for each of these rows the first position that it sees, not falling; NULL: 0. */
void attention_forward(float *y, size_t y_stride, float *log_sum, const float *q,
                       size_t q_stride, const float *k, const float *v, size_t kv_stride,
                       size_t first, size_t rows, size_t head_size, const uint32_t *starts,
                       float *scratch);
/* A whole sequence of one head. The gradients d_q, d_k, d_v have the stride of q, k, v; with
 * add_all those of k and v, which several heads of q may share, are added to. starts: of all
 * rows. */
void attention_backward(float *d_q, float *d_k, float *d_v, const float *d_y, const float *y,
                        size_t y_stride, const float *log_sum, const float *q, const float *k,
                        const float *v, size_t stride, size_t rows, size_t head_size,
                        bool add_all, const uint32_t *starts, float *scratch);

/* relu2.c: y = max(x, 0)^2, in place both ways; backward: d *= 2 * sqrt(y). */
void relu2_forward(float *x, size_t count);
void relu2_backward(float *d, const float *y, size_t count);

/* gelu.c: y = gelu(x), by the error function or (tanh) by GPT-2's formula; backward: d *=
 * gelu'(x), in place. */
void gelu_forward(float *y, const float *x, size_t count);
void gelu_backward(float *d, const float *x, size_t count);
void gelu_tanh_forward(float *y, const float *x, size_t count);
void gelu_tanh_backward(float *d, const float *x, size_t count);

/* swiglu.c: y = silu(gate) * up for rows [gate | up] of 2 * width; d has that shape too.
 * Backward also sets y. */
void swiglu_forward(float *y, const float *x, size_t rows, size_t width);
void swiglu_backward(float *d, float *y, const float *d_y, const float *x, size_t rows,
                     size_t width);

/* cross_entropy.c: the loss -log softmax(logits)[target] of one row; the second form also
 * replaces the logits by factor * their gradient. */
float cross_entropy_loss(const float *logits, size_t vocabulary, size_t target);
float cross_entropy_gradient(float *logits, size_t vocabulary, size_t target, float factor);

#endif
