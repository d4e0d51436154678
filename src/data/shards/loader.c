/* loader.c - batches as a pure function of the step. */
#include "data/shards/loader.h"

#include "base/random.h"

#include <string.h>

static uint64_t windows_of(const mo_shard *shard, size_t length)
{
  return (shard->count - 1) / length;
}

mousse_status loader_open(mo_loader *loader, const shard_set *set, size_t length,
                          uint64_t batch, loader_order order, uint64_t seed, mo_error *error)
{
  *loader = (struct mo_loader){
      .set = set, .length = length, .batch = batch, .seed = seed, .order = order};
  if (length == 0 || batch == 0)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "batches of %llu sequences of %zu tokens: both must be at least 1",
                   (unsigned long long)batch, length);
  loader->first = mo_allocate(NULL, (set->count + 1) * sizeof *loader->first);
  if (loader->first == NULL)
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for an index of %zu shards", set->count);
  for (size_t k = 0; k < set->count; k++)
    loader->first[k + 1] = loader->first[k] + windows_of(&set->shards[k], length);
  loader->windows = loader->first[set->count];
  if (loader->windows == 0) {
    const char *path = set->count > 0 ? set->shards[0].path : "(no shard)";
    loader_close(loader);
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: shards of %llu tokens are too short for one sequence of %zu tokens and "
                   "its target; use a shorter sequence or more text",
                   path, (unsigned long long)set->tokens, length);
  }
  return MOUSSE_OK;
}

void loader_close(mo_loader *loader)
{
  if (loader->first != NULL)
    mo_release(NULL, loader->first, (loader->set->count + 1) * sizeof *loader->first);
  *loader = (struct mo_loader){0};
}

/* A Feistel network of four rounds on 2h bits is a permutation of 0 .. 4^h - 1 whatever its
 * round function is; walking on while the result is outside 0 .. count - 1 makes it one of
 * that range, in fewer than four walks on average. */
uint64_t loader_permute(uint64_t seed, uint64_t epoch, uint64_t place, uint64_t count)
{
  unsigned half = 1;
  while (half < 32 && (UINT64_C(1) << (2 * half)) < count) half++;
  const uint64_t mask = (UINT64_C(1) << half) - 1;
  do {
    uint64_t left = place >> half, right = place & mask;
    for (uint64_t round = 0; round < 4; round++) {
      const uint64_t mixed = left ^ (mo_random_bits(seed, 4 * epoch + round, right) & mask);
      left = right;
      right = mixed;
    }
    place = left << half | right;
  } while (place >= count);
  return place;
}

uint64_t loader_window(const mo_loader *loader, uint64_t step, uint64_t sequence)
{
  const uint64_t number = step * loader->batch + sequence;
  const uint64_t epoch = number / loader->windows, place = number % loader->windows;
  if (loader->order == LOADER_SEQUENTIAL) return place;
  return loader_permute(loader->seed, epoch, place, loader->windows);
}

/* The last shard whose first window is not after this one. */
static size_t shard_of(const mo_loader *loader, uint64_t window)
{
  size_t low = 0, high = loader->set->count;
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    if (loader->first[middle] <= window)
      low = middle;
    else
      high = middle;
  }
  return low;
}

mousse_status loader_read(const mo_loader *loader, uint64_t window, uint32_t *inputs,
                          uint32_t *targets, mo_error *error)
{
  if (window >= loader->windows)
    return mo_fail(error, MOUSSE_OUT_OF_RANGE, "window %llu asked of %llu",
                   (unsigned long long)window, (unsigned long long)loader->windows);
  const size_t k = shard_of(loader, window);
  const mo_shard *shard = &loader->set->shards[k];
  const size_t length = loader->length;
  const size_t start = (size_t)(window - loader->first[k]) * length;
  MO_TRY(shard_read(shard, start, length, inputs, error));
  memcpy(targets, inputs + 1, (length - 1) * sizeof *targets);
  return shard_read(shard, start + length, 1, targets + length - 1, error);
}

mousse_status loader_fill(const mo_loader *loader, uint64_t step, uint64_t first, size_t count,
                          uint32_t *inputs, uint32_t *targets, mo_error *error)
{
  for (size_t b = 0; b < count; b++)
    MO_TRY(loader_read(loader, loader_window(loader, step, first + b),
                       inputs + b * loader->length, targets + b * loader->length, error));
  return MOUSSE_OK;
}
