/* describe.c - what a set of shards holds. */
#include "data/shards/describe.h"

enum { BLOCK = 1 << 16 };

static void note(const uint32_t *ids, size_t count, uint32_t end_of_text, bool *seen,
                 uint32_t limit, shard_description *d)
{
  for (size_t i = 0; i < count; i++) {
    d->documents += ids[i] == end_of_text;
    if (ids[i] > d->largest) d->largest = ids[i];
    if (ids[i] < limit) seen[ids[i]] = true;
  }
  d->tokens += count;
}

static mousse_status describe_shard(const mo_shard *shard, uint32_t *ids, uint32_t end_of_text,
                                    bool *seen, uint32_t limit, shard_description *d,
                                    mo_error *error)
{
  for (size_t at = 0; at < shard->count; at += BLOCK) {
    const size_t count = shard->count - at < BLOCK ? shard->count - at : BLOCK;
    MO_TRY(shard_read(shard, at, count, ids, error));
    note(ids, count, end_of_text, seen, limit, d);
  }
  d->shards++;
  return MOUSSE_OK;
}

mousse_status shard_set_describe(const shard_set *set, uint32_t end_of_text, bool *seen,
                                 uint32_t ids, shard_description *description, mo_error *error)
{
  mousse_status status = MOUSSE_OK;
  *description = (struct shard_description){0};
  uint32_t *block = mo_allocate(NULL, BLOCK * sizeof *block);
  if (block == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory to read shards");
  for (size_t i = 0; i < set->count && status == MOUSSE_OK; i++)
    status = describe_shard(&set->shards[i], block, end_of_text, seen, ids, description, error);
  mo_release(NULL, block, BLOCK * sizeof *block);
  return status;
}
