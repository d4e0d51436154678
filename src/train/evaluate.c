/* evaluate.c - validation in the order of the shards. */
#include "train/evaluate.h"

#include "comm/comm.h"
#include "comm/ranks.h"
#include "train/tokenizers.h"

typedef void tick_fn(void *user, uint64_t done, uint64_t all);

typedef struct buffers {
  uint32_t *tokens, *targets;
  uint32_t *starts; /* of documents; NULL: they are not told apart */
  float *losses;    /* of each batch, */
  float *bytes;     /* how many bytes of text its targets stand for, */
  float *counted;   /* and how many targets it has: whole numbers */
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
    if (batch->targets[i] != GPT_NO_TARGET) bytes += byte_lengths[batch->targets[i]];
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
  const gpt_batch batch = {b->tokens, b->targets, count, loader->length, b->starts};
  if (b->starts != NULL) loader_documents(loader, b->tokens, count, b->starts);
  b->bytes[number] = batch_bytes(&batch, p->byte_lengths);
  b->counted[number] = (float)gpt_batch_targets(&batch);
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

/* The mean over targets; a window of which all are to be learned counts 1. */
static double mean_loss(const plan *p, const buffers *b, double counted)
{
  const double length = (double)p->loader->length;
  double sum = 0;
  for (size_t i = 0; i < p->batches; i++)
    sum += (double)b->losses[i] * ((double)b->counted[i] / length);
  return sum / (counted / length);
}

static evaluation result_of(const plan *p, const buffers *b)
{
  double bytes = 0, counted = 0;
  for (size_t i = 0; i < p->batches; i++) bytes += (double)b->bytes[i];
  for (size_t i = 0; i < p->batches; i++) counted += (double)b->counted[i];
  const double loss = mean_loss(p, b, counted);
  return (evaluation){loss, bits_per_byte(loss * counted, bytes), (uint64_t)counted};
}

static bool take_buffers(buffers *b, const plan *p, size_t bytes)
{
  const bool documents = p->loader->document_token != LOADER_NONE;
  b->tokens = mo_allocate(NULL, bytes);
  b->targets = mo_allocate(NULL, bytes);
  if (documents) b->starts = mo_allocate(NULL, bytes);
  b->losses = mo_allocate(NULL, 3 * p->batches * sizeof(float));
  if (b->losses == NULL) return false;
  b->bytes = b->losses + p->batches;
  b->counted = b->bytes + p->batches;
  return b->tokens != NULL && b->targets != NULL && (b->starts != NULL || !documents);
}

static void release_buffers(const buffers *b, const plan *p, size_t bytes)
{
  mo_release(NULL, b->tokens, bytes);
  mo_release(NULL, b->targets, bytes);
  mo_release(NULL, b->starts, bytes);
  mo_release(NULL, b->losses, 3 * p->batches * sizeof(float));
}

uint64_t evaluation_windows(const mo_loader *loader, uint64_t tokens)
{
  const uint64_t windows = (tokens + loader->length - 1) / loader->length;
  return windows == 0 || windows > loader->distinct ? loader->distinct : windows;
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
  buffers b = {0};
  mousse_status status = MOUSSE_OK;
  if (!take_buffers(&b, &p, bytes))
    status = mo_fail(error, MOUSSE_NO_MEMORY, "no memory for a batch of %zu sequences", batch);
  else
    status = score_share(&p, pass, comm, &b, tick, user, error);
  status = mo_ranks_agree(comm, status, error);
  /* Each batch's numbers are 0 on all ranks but one, so the sum only collects them. */
  if (status == MOUSSE_OK) status = mo_ranks_sum(comm, b.losses, 3 * p.batches, error);
  if (status == MOUSSE_OK) *result = result_of(&p, &b);
  release_buffers(&b, &p, bytes);
  return status;
}
