/* evaluate.c - validation in the order of the shards. */
#include "train/evaluate.h"

#include "comm/comm.h"
#include "comm/ranks.h"
#include "train/tokenizers.h"

typedef void tick_fn(void *user, uint64_t done, uint64_t all);

typedef struct buffers {
  uint32_t *tokens, *targets;
  float *losses; /* of each batch, */
  float *bytes;  /* and how many bytes of text its targets stand for: whole numbers */
} buffers;

/* The windows to score, a batch at a time. */
typedef struct plan {
  const mo_loader *loader;
  size_t batch, batches;
  uint64_t windows;
  const uint32_t *byte_lengths;
} plan;

static size_t windows_in(const plan *p, size_t batch)
{
  const uint64_t left = p->windows - (uint64_t)batch * p->batch;
  return left < p->batch ? (size_t)left : p->batch;
}

float batch_bytes(const gpt_batch *batch, const uint32_t *byte_lengths)
{
  uint64_t bytes = 0;
  if (byte_lengths == NULL) return 0;
  for (size_t i = 0; i < batch->batch * batch->sequence; i++)
    bytes += byte_lengths[batch->targets[i]];
  return (float)bytes;
}

static mousse_status score(const plan *p, gpt_pass *pass, const buffers *b, size_t number,
                           mo_error *error)
{
  const mo_loader *loader = p->loader;
  const size_t count = windows_in(p, number);
  for (size_t i = 0; i < count; i++)
    MO_TRY(loader_read(loader, loader_window(loader, 0, (uint64_t)number * p->batch + i),
                       b->tokens + i * loader->length, b->targets + i * loader->length, error));
  const gpt_batch batch = {b->tokens, b->targets, count, loader->length};
  b->bytes[number] = batch_bytes(&batch, p->byte_lengths);
  return gpt_loss(pass, &batch, &b->losses[number], error);
}

static mousse_status score_share(const plan *p, gpt_pass *pass, const mousse_comm *comm,
                                 const buffers *b, tick_fn *tick, void *user, mo_error *error)
{
  for (size_t i = (size_t)comm->rank; i < p->batches; i += (size_t)comm->size) {
    MO_TRY(score(p, pass, b, i, error));
    const uint64_t done = (uint64_t)(i + 1) * p->batch;
    if (tick != NULL) tick(user, done < p->windows ? done : p->windows, p->windows);
  }
  return MOUSSE_OK;
}

static double mean_loss(const plan *p, const float *losses)
{
  double sum = 0;
  for (size_t i = 0; i < p->batches; i++) sum += (double)losses[i] * (double)windows_in(p, i);
  return sum / (double)p->windows;
}

static evaluation result_of(const plan *p, const buffers *b)
{
  const uint64_t tokens = p->windows * p->loader->length;
  const double loss = mean_loss(p, b->losses);
  double bytes = 0;
  for (size_t i = 0; i < p->batches; i++) bytes += (double)b->bytes[i];
  return (evaluation){loss, bits_per_byte(loss * (double)tokens, bytes), tokens};
}

mousse_status evaluate(const mo_loader *loader, gpt_pass *pass, const mousse_comm *comm,
                       size_t batch, uint64_t windows, const uint32_t *byte_lengths,
                       tick_fn *tick, void *user, evaluation *result, mo_error *error)
{
  if (comm == NULL) comm = &mo_comm_self;
  if (windows == 0 || windows > loader->distinct) windows = loader->distinct;
  const plan p = {loader, batch, (size_t)((windows + batch - 1) / batch), windows,
                  byte_lengths};
  const size_t bytes = batch * loader->length * sizeof(uint32_t);
  const size_t loss_bytes = 2 * p.batches * sizeof(float);
  buffers b = {mo_allocate(NULL, bytes), mo_allocate(NULL, bytes),
               mo_allocate(NULL, loss_bytes), NULL};
  b.bytes = b.losses != NULL ? b.losses + p.batches : NULL;
  mousse_status status = MOUSSE_OK;
  if (b.tokens == NULL || b.targets == NULL || b.losses == NULL)
    status = mo_fail(error, MOUSSE_NO_MEMORY, "no memory for a batch of %zu sequences", batch);
  else
    status = score_share(&p, pass, comm, &b, tick, user, error);
  status = mo_ranks_agree(comm, status, error);
  /* Each batch's numbers are 0 on all ranks but one, so the sum only collects them. */
  if (status == MOUSSE_OK) status = mo_ranks_sum(comm, b.losses, 2 * p.batches, error);
  if (status == MOUSSE_OK) *result = result_of(&p, &b);
  mo_release(NULL, b.tokens, bytes);
  mo_release(NULL, b.targets, bytes);
  mo_release(NULL, b.losses, loss_bytes);
  return status;
}
