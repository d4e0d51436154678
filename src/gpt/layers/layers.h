/* layers.h - the layers of the model as pure functions on row-major floats, one thread each.
 *
 * Rows are token positions. Forward functions write y from x; backward functions write the
 * gradient of the input from the gradient d_y of the output and what forward kept. Callers
 * spread rows, heads or sequences over threads; every function here is deterministic.
 */
#ifndef MOUSSE_GPT_LAYERS_LAYERS_H
#define MOUSSE_GPT_LAYERS_LAYERS_H

#include <stddef.h>
#include <stdint.h>

/* embedding.c: y[t] = table[token[t]] */
void embedding_forward(float *y, const float *table, const uint32_t *tokens, size_t rows,
                       size_t width);
/* d_table[token[t]] += d_y[t] for columns [first, last) only: the caller's share. */
void embedding_backward(float *d_table, const float *d_y, const uint32_t *tokens, size_t rows,
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
/* y[j] (+)= dot(x, weight[j]) for j in [first, last): one row, reading the weight once. */
void linear_vector(float *y, const float *x, const float *weight, size_t inputs, size_t first,
                   size_t last, int add);

/* rmsnorm.c: y = x * r, r = 1 / sqrt(mean(x^2) + FLT_EPSILON), one r per row. */
void rmsnorm_forward(float *y, float *r, const float *x, size_t rows, size_t width);
/* d_x = add + the gradient; add may be d_x itself. */
void rmsnorm_backward(float *d_x, const float *add, const float *d_y, const float *y,
                      const float *r, size_t rows, size_t width);

/* rope.c: rotates, then normalises, each head of q and k in place. tables as rope_tables. */
void rope_tables(float *cosines, float *sines, size_t positions, size_t head_size);
/* qkv rows are [q | k | v], heads * head_size each; position[i] = first + i modulo length;
 * r takes 2 * heads numbers a row: those of q, then those of k. */
void rope_norm_forward(float *qkv, float *r, const float *cosines, const float *sines,
                       size_t first, size_t rows, size_t length, size_t heads,
                       size_t head_size);
/* One head of one sequence, rows at positions 0, 1, ...: d becomes the gradient of the
 * projection from that of the normalised vector y. Rows of d and y are `stride` apart, the
 * numbers r `r_stride` apart. */
void rope_norm_backward(float *d, const float *y, const float *r, const float *cosines,
                        const float *sines, size_t rows, size_t head_size, size_t stride,
                        size_t r_stride);

/* attention.c: causal softmax attention of one head. */
enum { ATTENTION_BLOCK = 64 };              /* query rows handled together */
size_t attention_scratch(size_t positions); /* floats for either direction */
/* Query rows at positions first, first + 1, ... (at most ATTENTION_BLOCK) against keys and
 * values at positions 0, 1, ...; log_sum (may be NULL) takes each row's log of the sum. */
void attention_forward(float *y, size_t y_stride, float *log_sum, const float *q,
                       size_t q_stride, const float *k, const float *v, size_t kv_stride,
                       size_t first, size_t rows, size_t head_size, float *scratch);
/* A whole sequence of one head. The gradients d_q, d_k, d_v have the stride of q, k, v. */
void attention_backward(float *d_q, float *d_k, float *d_v, const float *d_y, const float *y,
                        size_t y_stride, const float *log_sum, const float *q, const float *k,
                        const float *v, size_t stride, size_t rows, size_t head_size,
                        float *scratch);

/* relu2.c: y = max(x, 0)^2, in place both ways; backward: d *= 2 * sqrt(y). */
void relu2_forward(float *x, size_t count);
void relu2_backward(float *d, const float *y, size_t count);

/* cross_entropy.c: the loss -log softmax(logits)[target] of one row; the second form also
 * replaces the logits by factor * their gradient. */
float cross_entropy_loss(const float *logits, size_t vocabulary, size_t target);
float cross_entropy_gradient(float *logits, size_t vocabulary, size_t target, float factor);

#endif
