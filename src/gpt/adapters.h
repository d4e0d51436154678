/* adapters.h - the adapters of neighbouring matrices that one product serves, under one name.
 *
 * A product of the model has the outputs of `count` tensors side by side, from `first` on: q, k
 * and v, or gate and fc, or one. Those that have an adapter (layers/lora.c) add to it.
 */
#ifndef MOUSSE_GPT_ADAPTERS_H
#define MOUSSE_GPT_ADAPTERS_H

#include "gpt/pass.h"
#include "linalg/gemm_grid.h"

enum { GPT_MOST_ADAPTED = 4 }; /* in one parallel loop of backward.c */

/* The tensors of a product, and its rows of inputs and outputs. */
typedef struct gpt_adapted {
  const gpt_tensor *first;
  size_t count;
} gpt_adapted;

static inline gpt_adapted gpt_adapted_qkv(const gpt_layer *w)
{
  return (gpt_adapted){w->c_q, 3};
}
static inline gpt_adapted gpt_adapted_hidden(const gpt_layer *w)
{
  return (gpt_adapted){w->gate != NULL ? w->gate : w->fc, w->gate != NULL ? 2 : 1};
}
static inline gpt_adapted gpt_adapted_one(const gpt_tensor *tensor)
{
  return (gpt_adapted){tensor, 1};
}

lora_weights gpt_lora_weights(const gpt_config *config, const gpt_tensor *tensor);

/* y += what the adapters make of x; low: of the layer, slot by slot, `slot_rows` rows each, at
 * the first of these rows. */
void gpt_adapt_forward(const gpt_config *c, gpt_adapted of, float *y, size_t y_stride,
                       float *low, size_t slot_rows, const float *x, size_t rows);
/* d_low of rows from d_y of the product. */
void gpt_adapt_backward_low(const gpt_config *c, gpt_adapted of, float *d_low, size_t slot_rows,
                            const float *d_y, size_t d_y_stride, size_t rows);
/* d_x += what flows through the adapters. */
void gpt_adapt_backward(const gpt_config *c, gpt_adapted of, float *d_x, const float *d_low,
                        size_t slot_rows, size_t rows);

/* Weights' gradients, planned: products live until the loop is done. */
typedef struct gpt_adapter_work {
  mo_product products[2 * GPT_MOST_ADAPTED];
  size_t count;
} gpt_adapter_work;
/* Adds those of a product of layer `layer` with gradient d_y and input x over all rows. */
void gpt_adapter_products(const gpt_step *s, size_t layer, gpt_adapted of, const float *d_y,
                          size_t d_y_stride, const float *x, gpt_adapter_work *work);

#endif
