/* evaluate.c - validation in the order of the shards. */
#include "train/evaluate.h"

typedef void tick_fn(void *user, uint64_t done, uint64_t all);

typedef struct buffers {
  uint32_t *tokens, *targets;
} buffers;

static mousse_status score(const mo_loader *loader, gpt_pass *pass, const buffers *b,
                           uint64_t first, size_t count, double *sum, mo_error *error)
{
  float loss = 0;
  for (size_t i = 0; i < count; i++)
    MO_TRY(loader_read(loader, first + i, b->tokens + i * loader->length,
                       b->targets + i * loader->length, error));
  const gpt_batch batch = {b->tokens, b->targets, count, loader->length};
  MO_TRY(gpt_loss(pass, &batch, &loss, error));
  *sum += (double)loss * (double)count;
  return MOUSSE_OK;
}

static mousse_status score_all(const mo_loader *loader, gpt_pass *pass, const buffers *b,
                               size_t batch, uint64_t windows, tick_fn *tick, void *user,
                               double *sum, mo_error *error)
{
  for (uint64_t done = 0; done < windows;) {
    const size_t count = windows - done < batch ? (size_t)(windows - done) : batch;
    MO_TRY(score(loader, pass, b, done, count, sum, error));
    done += count;
    if (tick != NULL) tick(user, done, windows);
  }
  return MOUSSE_OK;
}

mousse_status evaluate(const mo_loader *loader, gpt_pass *pass, size_t batch, uint64_t windows,
                       tick_fn *tick, void *user, evaluation *result, mo_error *error)
{
  const size_t bytes = batch * loader->length * sizeof(uint32_t);
  const buffers b = {mo_allocate(NULL, bytes), mo_allocate(NULL, bytes)};
  double sum = 0;
  mousse_status status = MOUSSE_OK;
  if (windows == 0 || windows > loader->windows) windows = loader->windows;
  if (b.tokens == NULL || b.targets == NULL)
    status = mo_fail(error, MOUSSE_NO_MEMORY, "no memory for a batch of %zu sequences", batch);
  else
    status = score_all(loader, pass, &b, batch, windows, tick, user, &sum, error);
  mo_release(NULL, b.tokens, bytes);
  mo_release(NULL, b.targets, bytes);
  if (status == MOUSSE_OK)
    *result = (evaluation){sum / (double)windows, windows * loader->length};
  return status;
}
