/* embedding_gradient.c - the last part of backward: into the rows of the embeddings. */
#include "base/parallel.h"
#include "gpt/layers/layers.h"
#include "gpt/pass.h"
#include "gpt/profile.h"

#include <string.h>

enum { EMBEDDING_COLUMNS = 64 };

static void embedding_columns(void *context, size_t item, int thread)
{
  (void)thread;
  const gpt_step *s = ((const gpt_layer_step *)context)->step;
  const size_t first = item * EMBEDDING_COLUMNS, end = first + EMBEDDING_COLUMNS;
  const size_t last = end < s->C ? end : s->C;
  const gpt_model_tensors *w = s->pass->params->parts;
  const float *d_x = s->pass->gradient.d_x;
  gpt_lap lap = gpt_lap_start(s->pass->profile);
  if (!w->wte->frozen)
    embedding_backward(w->wte->gradient, d_x, s->batch->tokens, s->N, s->C, first, last);
  if (w->wpe != NULL && !w->wpe->frozen)
    position_embedding_backward(w->wpe->gradient, d_x, s->N, s->T, s->C, first, last);
  gpt_lap_end(&lap, GPT_PROFILE_EMBEDDING);
}

enum { CLEARED = 1 << 16 };

static void clear_block(void *context, size_t item, int thread)
{
  const gpt_tensor *tensor = context;
  const size_t first = item * CLEARED, left = tensor->rows * tensor->cols - first;
  (void)thread;
  memset(tensor->gradient + first, 0, (left < CLEARED ? left : CLEARED) * sizeof(float));
}

/* Those of the embeddings are large, and hardly any row of them has a gradient. */
static void clear_table(const gpt_step *s, const gpt_tensor *tensor)
{
  if (tensor == NULL || tensor->gradient == NULL) return;
  gpt_tensor table = *tensor;
  mo_parallel(s->pass->shape.threads, (table.rows * table.cols + CLEARED - 1) / CLEARED,
              clear_block, &table);
}

/* Rows are added one by one; a tied embedding already has its gradient as the head. */
void gpt_embedding_backward(const gpt_step *s)
{
  const gpt_model_tensors *w = s->pass->params->parts;
  gpt_layer_step c = {s, 0};
  if (s->beta == 0.0f && !s->config->tied) clear_table(s, w->wte);
  if (s->beta == 0.0f) clear_table(s, w->wpe);
  mo_parallel(s->pass->shape.threads, (s->C + EMBEDDING_COLUMNS - 1) / EMBEDDING_COLUMNS,
              embedding_columns, &c);
  gpt_tell_complete(s->pass);
}
