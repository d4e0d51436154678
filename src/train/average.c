/* average.c - the moving average of the weights. */
#include "train/average.h"

#include "base/parallel.h"
#include "base/simd.h"
#include "train/row_blocks.h"

#include <string.h>

enum { BLOCK = 1 << 16 };

mousse_status average_open(weight_average *a, gpt_params *params, double decay, int threads,
                           mo_error *error)
{
  *a = (weight_average){.params = params, .decay = decay, .threads = threads};
  if (decay < 0) return MOUSSE_OK;
  a->values = mo_allocate(NULL, params->value_count * sizeof(float));
  if (a->values == NULL)
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for the average of the weights");
  average_restart(a);
  return MOUSSE_OK;
}

void average_close(weight_average *a)
{
  if (a->values != NULL) mo_release(NULL, a->values, a->params->value_count * sizeof(float));
  *a = (weight_average){0};
}

void average_restart(weight_average *a)
{
  if (a->values != NULL)
    memcpy(a->values, a->params->values, a->params->value_count * sizeof(float));
}

MO_CLONES(static void move_towards(float *restrict average, const float *restrict weights,
                                   size_t count, float share))
{
#pragma omp simd
  for (size_t i = 0; i < count; i++) average[i] += share * (weights[i] - average[i]);
}

typedef struct update {
  const weight_average *average;
  float share;
} update;

static void update_block(void *context, size_t item, int thread)
{
  const update *u = context;
  const weight_average *a = u->average;
  const size_t first = item * BLOCK, left = a->params->value_count - first;
  (void)thread;
  move_towards(a->values + first, a->params->values + first, left < BLOCK ? left : BLOCK,
               u->share);
}

void average_update(weight_average *a, uint64_t step)
{
  if (a->values == NULL || a->source != NULL) return;
  const double early = (1.0 + (double)step) / (10.0 + (double)step);
  update u = {a, (float)(1 - (early < a->decay ? early : a->decay))};
  mo_parallel(a->threads, (a->params->value_count + BLOCK - 1) / BLOCK, update_block, &u);
}

static mousse_status read_tensor(const weight_average *a, const gpt_tensor *t, float *values)
{
  const size_t count = row_block_count(a->source, t);
  mousse_status status = MOUSSE_OK;
  for (size_t i = 0; i < count && status == MOUSSE_OK; i++) {
    const row_block block = row_block_at(t, count, i);
    status = mousse_read_weights(a->source, block.name, values + block.first * t->cols,
                                 block.rows * t->cols);
  }
  return status;
}

mousse_status average_refresh(weight_average *a, mo_error *error)
{
  if (a->values == NULL || a->source == NULL) return MOUSSE_OK;
  for (size_t i = 0; i < a->params->tensor_count; i++) {
    const gpt_tensor *t = &a->params->tensors[i];
    const size_t count = t->rows * t->cols;
    float *values = a->values + (t->value - a->params->values);
    if (t->frozen) {
      memcpy(values, t->value, count * sizeof *values);
      continue;
    }
    const mousse_status status = read_tensor(a, t, values);
    if (status != MOUSSE_OK)
      return mo_fail(error, status, "optimizer: %s", mousse_error(a->source));
  }
  return MOUSSE_OK;
}

static void swap_block(void *context, size_t item, int thread)
{
  const weight_average *a = context;
  const size_t first = item * BLOCK, left = a->params->value_count - first;
  const size_t end = first + (left < BLOCK ? left : BLOCK);
  (void)thread;
  for (size_t i = first; i < end; i++) {
    const float weight = a->params->values[i];
    a->params->values[i] = a->values[i];
    a->values[i] = weight;
  }
}

void average_swap(weight_average *a)
{
  if (a->values == NULL) return;
  mo_parallel(a->threads, (a->params->value_count + BLOCK - 1) / BLOCK, swap_block, a);
}

mousse_status average_load(weight_average *a, const char *path, mo_error *error)
{
  average_swap(a);
  const mousse_status status = gpt_load_weights(a->params, path, error);
  average_swap(a);
  return status;
}
