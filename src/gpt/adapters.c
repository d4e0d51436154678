/* adapters.c - the adapters of a product, one after the other; merging; their first values. */
#include "gpt/adapters.h"

#include "base/parallel.h"
#include "linalg/blas.h"

lora_weights gpt_lora_weights(const gpt_config *c, const gpt_tensor *tensor)
{
  return (lora_weights){.a = tensor->lora_a->value,
                        .b = tensor->lora_b->value,
                        .inputs = tensor->cols,
                        .outputs = tensor->rows,
                        .rank = c->lora_rank,
                        .scale = (float)(c->lora_alpha / (double)c->lora_rank)};
}

static size_t slot_start(const gpt_config *c, const gpt_tensor *tensor, size_t slot_rows)
{
  return tensor->slot * slot_rows * c->lora_rank;
}

void gpt_adapt_forward(const gpt_config *c, gpt_adapted of, float *y, size_t y_stride,
                       float *low, size_t slot_rows, const float *x, size_t rows)
{
  for (const gpt_tensor *t = of.first; t < of.first + of.count; t++) {
    if (t->lora_a != NULL) {
      const lora_weights w = gpt_lora_weights(c, t);
      lora_forward(y, y_stride, low + slot_start(c, t, slot_rows), x, &w, rows);
    }
    y += t->rows;
  }
}

void gpt_adapt_backward_low(const gpt_config *c, gpt_adapted of, float *d_low, size_t slot_rows,
                            const float *d_y, size_t d_y_stride, size_t rows)
{
  for (const gpt_tensor *t = of.first; t < of.first + of.count; t++) {
    if (t->lora_a != NULL) {
      const lora_weights w = gpt_lora_weights(c, t);
      lora_backward_low(d_low + slot_start(c, t, slot_rows), d_y, d_y_stride, &w, rows);
    }
    d_y += t->rows;
  }
}

void gpt_adapt_backward(const gpt_config *c, gpt_adapted of, float *d_x, const float *d_low,
                        size_t slot_rows, size_t rows)
{
  for (const gpt_tensor *t = of.first; t < of.first + of.count; t++)
    if (t->lora_a != NULL) {
      const lora_weights w = gpt_lora_weights(c, t);
      lora_backward(d_x, d_low + slot_start(c, t, slot_rows), &w, rows);
    }
}

void gpt_adapter_products(const gpt_step *s, size_t layer, gpt_adapted of, const float *d_y,
                          size_t d_y_stride, const float *x, gpt_adapter_work *work)
{
  const size_t rank = s->config->lora_rank;
  for (const gpt_tensor *t = of.first; t < of.first + of.count; t++) {
    if (t->lora_a != NULL) {
      const size_t start = slot_start(s->config, t, s->N);
      mo_product b =
          mo_dense_product(MO_TRANSPOSED, MO_PLAIN, t->rows, rank, s->N, d_y,
                           s->pass->kept[layer].low + start, s->beta, t->lora_b->gradient);
      b.a_stride = d_y_stride;
      work->products[work->count++] = b;
      work->products[work->count++] =
          mo_dense_product(MO_TRANSPOSED, MO_PLAIN, rank, t->cols, s->N,
                           s->pass->gradient.d_low + start, x, s->beta, t->lora_a->gradient);
    }
    d_y += t->rows;
  }
}

static void merge_tensor(void *context, size_t item, int thread)
{
  const gpt_params *params = context;
  const gpt_tensor *t = &params->tensors[item];
  (void)thread;
  if (t->lora_a == NULL) return;
  const lora_weights w = gpt_lora_weights(&params->config, t);
  lora_merge(t->value, &w);
}

void gpt_merge_adapters(gpt_params *params, int threads)
{
  if (params->config.lora_rank == 0) return;
  mo_blas_enter();
  mo_parallel(threads > 0 ? threads : mo_threads_available(), params->base_count, merge_tensor,
              params);
  mo_blas_leave();
  for (size_t i = 0; i < params->base_count; i++)
    params->tensors[i].lora_a = params->tensors[i].lora_b = NULL;
  params->tensor_count = params->base_count;
  params->value_count = params->base_values;
  params->config = gpt_config_base(&params->config);
}
