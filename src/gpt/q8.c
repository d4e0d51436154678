/* q8.c - a copy of a model's matrices in blocks of 8 bits, for writing with it.
 *
 * The copy holds, in the order of the tensors, those matrices that a single token is multiplied
 * by and whose rows are whole blocks; the model's own values become those of the copy, so that a
 * prompt, which goes through them, sees the same model.
 */
#include "gpt/q8.h"

#include "base/parallel.h"
#include "base/q8.h"
#include "gpt/layers/layers.h"
#include "gpt/params.h"

enum { WORDS = MO_Q8_BLOCK / sizeof(uint32_t), BLOCK_BYTES = MO_Q8_BLOCK + sizeof(float) };

struct gpt_q8 {
  const gpt_params *params; /* borrowed */
  uint32_t *words;          /* WORDS for each block */
  float *scales;            /* one */
  size_t blocks;
  size_t *starts; /* of each tensor, in blocks; SIZE_MAX: not in the copy */
};

static mousse_status check_numbers(const gpt_tensor *tensor, mo_error *error)
{
  for (size_t i = 0; i < tensor->rows * tensor->cols; i++)
    if (!mo_q8_holds(tensor->value[i]))
      return mo_fail(error, MOUSSE_NOT_FINITE,
                     "'%s' has the number %g, which q8_0 cannot hold; use weights of f32",
                     tensor->name, (double)tensor->value[i]);
  return MOUSSE_OK;
}

static bool is_copied(const gpt_params *params, const gpt_tensor *tensor)
{
  return (tensor->role == GPT_MATRIX || tensor == gpt_params_head(params)) &&
         tensor->cols % MO_Q8_BLOCK == 0;
}

static size_t block_count(const gpt_tensor *tensor)
{
  return tensor->rows * (tensor->cols / MO_Q8_BLOCK);
}

size_t gpt_q8_bytes(const gpt_params *params)
{
  size_t blocks = 0;
  for (size_t i = 0; i < params->tensor_count; i++)
    if (is_copied(params, &params->tensors[i])) blocks += block_count(&params->tensors[i]);
  return blocks * BLOCK_BYTES;
}

typedef struct rounding {
  gpt_q8 *q8;
  const gpt_tensor *tensor;
  size_t start;
} rounding;

static void round_row(void *context, size_t row, int thread)
{
  const rounding *r = context;
  const size_t blocks = r->tensor->cols / MO_Q8_BLOCK;
  float *x = r->tensor->value + row * r->tensor->cols;
  (void)thread;
  for (size_t i = 0; i < blocks; i++, x += MO_Q8_BLOCK) {
    const size_t at = r->start + row * blocks + i;
    int8_t q[MO_Q8_BLOCK];
    const float scale = mo_from_float16(mo_q8_encode(x, q));
    linear_pack_q8(q, r->q8->words + at * WORDS);
    r->q8->scales[at] = scale;
    for (size_t j = 0; j < MO_Q8_BLOCK; j++) x[j] = scale * (float)q[j];
  }
}

static void copy_all(gpt_q8 *q8, int threads)
{
  size_t used = 0;
  for (size_t i = 0; i < q8->params->tensor_count; i++) {
    const gpt_tensor *tensor = &q8->params->tensors[i];
    q8->starts[i] = SIZE_MAX;
    if (!is_copied(q8->params, tensor)) continue;
    rounding r = {q8, tensor, used};
    mo_parallel(threads > 0 ? threads : mo_threads_available(), tensor->rows, round_row, &r);
    q8->starts[i] = used;
    used += block_count(tensor);
  }
}

mousse_status gpt_q8_create(gpt_q8 **out, gpt_params *params, int threads, mo_error *error)
{
  const size_t bytes = gpt_q8_bytes(params);
  *out = NULL;
  for (size_t i = 0; i < params->tensor_count; i++)
    if (is_copied(params, &params->tensors[i]))
      MO_TRY(check_numbers(&params->tensors[i], error));
  if (bytes == 0)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "q8_0 works on blocks of %d numbers, and the model's width %zu is not a "
                   "multiple of that",
                   MO_Q8_BLOCK, params->config.n_embd);
  gpt_q8 *q8 = mo_allocate(NULL, sizeof *q8);
  if (q8 == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for weights of 8 bits");
  q8->params = params;
  q8->blocks = bytes / BLOCK_BYTES;
  q8->words = mo_allocate(NULL, q8->blocks * MO_Q8_BLOCK);
  q8->scales = mo_allocate(NULL, q8->blocks * sizeof *q8->scales);
  q8->starts = mo_allocate(NULL, params->tensor_count * sizeof *q8->starts);
  if (q8->words == NULL || q8->scales == NULL || q8->starts == NULL) {
    gpt_q8_destroy(q8);
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for weights of 8 bits: %zu bytes",
                   bytes);
  }
  copy_all(q8, threads);
  *out = q8;
  return MOUSSE_OK;
}

void gpt_q8_destroy(gpt_q8 *q8)
{
  if (q8 == NULL) return;
  mo_release(NULL, q8->words, q8->blocks * MO_Q8_BLOCK);
  mo_release(NULL, q8->scales, q8->blocks * sizeof *q8->scales);
  mo_release(NULL, q8->starts, q8->params->tensor_count * sizeof *q8->starts);
  mo_release(NULL, q8, sizeof *q8);
}

gpt_q8_matrix gpt_q8_find(const gpt_q8 *q8, const gpt_tensor *tensor)
{
  if (q8 == NULL) return (gpt_q8_matrix){0};
  const size_t start = q8->starts[tensor - q8->params->tensors];
  if (start == SIZE_MAX) return (gpt_q8_matrix){0};
  return (gpt_q8_matrix){q8->words + start * WORDS, q8->scales + start};
}
