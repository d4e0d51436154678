/* loader.c - batches as a pure function of the step. */
#include "data/shards/loader.h"

#include "base/random.h"

#include <string.h>

static uint64_t windows_of(const mo_shard *shard, size_t length)
{
  return (shard->count - 1) / length;
}

/* The windows of source k are first .. first + count - 1. */
static uint64_t source_windows(const mo_loader *loader, size_t k, uint64_t *first)
{
  const shard_source *source = &loader->set->sources[k];
  *first = loader->first[source->first];
  return loader->first[source->first + source->count] - *first;
}

static mousse_status too_short(const shard_set *set, size_t shard, size_t length,
                               mo_error *error)
{
  return mo_fail(error, MOUSSE_BAD_FORMAT,
                 "%s: shards of %llu tokens are too short for one sequence of %zu tokens and "
                 "its target; use a shorter sequence or more text",
                 set->count > 0 ? set->shards[shard].path : "(no shard)",
                 (unsigned long long)(set->count > 0 ? set->shards[shard].count : 0), length);
}

static mousse_status mix_sources(mo_loader *loader, mo_error *error)
{
  const shard_set *set = loader->set;
  double weights[MIXTURE_MOST];
  uint64_t sizes[MIXTURE_MOST], first = 0;
  size_t culprit = 0;
  mo_error reason = {{0}};
  for (size_t k = 0; k < set->source_count; k++) {
    weights[k] = set->sources[k].weight;
    sizes[k] = source_windows(loader, k, &first);
    if (sizes[k] == 0) return too_short(set, set->sources[k].first, loader->length, error);
  }
  const mousse_status status =
      dealing_open(&loader->dealing, weights, set->source_count, &culprit, &reason);
  if (status == MOUSSE_OUT_OF_RANGE)
    return mo_fail(error, status, "%s: %s", set->shards[set->sources[culprit].first].path,
                   reason.text);
  if (status != MOUSSE_OK) return mo_fail(error, status, "%s", reason.text);
  loader->distinct = dealing_lasts(&loader->dealing, sizes);
  return MOUSSE_OK;
}

static mousse_status index_windows(mo_loader *loader, mo_error *error)
{
  const shard_set *set = loader->set;
  loader->first = mo_allocate(NULL, (set->count + 1) * sizeof *loader->first);
  if (loader->first == NULL)
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for an index of %zu shards", set->count);
  for (size_t k = 0; k < set->count; k++)
    loader->first[k + 1] = loader->first[k] + windows_of(&set->shards[k], loader->length);
  loader->windows = loader->distinct = loader->first[set->count];
  return loader->windows > 0 ? MOUSSE_OK : too_short(set, 0, loader->length, error);
}

mousse_status loader_open(mo_loader *loader, const shard_set *set, size_t length,
                          uint64_t batch, loader_order order, uint64_t seed, mo_error *error)
{
  *loader = (struct mo_loader){.set = set,
                               .length = length,
                               .batch = batch,
                               .seed = seed,
                               .order = order,
                               .document_token = LOADER_NONE};
  for (size_t k = 0; k < set->count; k++)
    loader->has_targets = loader->has_targets || set->shards[k].targets != NULL;
  if (length == 0 || batch == 0)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "batches of %llu sequences of %zu tokens: both must be at least 1",
                   (unsigned long long)batch, length);
  mousse_status status = index_windows(loader, error);
  if (status == MOUSSE_OK && set->source_count > 1) status = mix_sources(loader, error);
  if (status != MOUSSE_OK) loader_close(loader);
  return status;
}

void loader_close(mo_loader *loader)
{
  if (loader->first != NULL)
    mo_release(NULL, loader->first, (loader->set->count + 1) * sizeof *loader->first);
  dealing_close(&loader->dealing);
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

/* Sequence `number` of a source of this many windows. */
static uint64_t window_of(const mo_loader *loader, uint64_t seed, uint64_t number,
                          uint64_t windows)
{
  const uint64_t epoch = number / windows, place = number % windows;
  if (loader->order == LOADER_SEQUENTIAL) return place;
  return loader_permute(seed, epoch, place, windows);
}

uint64_t loader_window(const mo_loader *loader, uint64_t step, uint64_t sequence)
{
  const uint64_t number = step * loader->batch + sequence;
  uint64_t own = 0, first = 0;
  if (loader->dealing.turns == NULL)
    return window_of(loader, loader->seed, number, loader->windows);
  const uint32_t k = dealing_find(&loader->dealing, number, &own);
  const uint64_t windows = source_windows(loader, k, &first);
  return first + window_of(loader, loader->seed + ((uint64_t)k << 32), own, windows);
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
    return mo_fail(error, MOUSSE_OUT_OF_RANGE, "window %llu requested, but there are only %llu",
                   (unsigned long long)window, (unsigned long long)loader->windows);
  const size_t k = shard_of(loader, window);
  const mo_shard *shard = &loader->set->shards[k];
  const size_t length = loader->length;
  const size_t start = (size_t)(window - loader->first[k]) * length;
  MO_TRY(shard_read(shard, start, length, inputs, error));
  memcpy(targets, inputs + 1, (length - 1) * sizeof *targets);
  MO_TRY(shard_read(shard, start + length, 1, targets + length - 1, error));
  for (size_t i = 0; shard->targets != NULL && i < length; i++)
    if (!shard_is_target(shard, start + i + 1)) targets[i] = LOADER_NONE;
  return MOUSSE_OK;
}

mousse_status loader_targets(const mo_loader *loader, uint64_t step, uint64_t *count,
                             mo_error *error)
{
  *count = 0;
  for (uint64_t b = 0; b < loader->batch; b++) {
    const uint64_t window = loader_window(loader, step, b);
    const size_t k = shard_of(loader, window);
    const size_t start = (size_t)(window - loader->first[k]) * loader->length;
    MO_TRY(shard_check(&loader->set->shards[k], error));
    for (size_t i = 1; i <= loader->length; i++)
      *count += shard_is_target(&loader->set->shards[k], start + i);
  }
  return MOUSSE_OK;
}

void loader_documents(const mo_loader *loader, const uint32_t *inputs, size_t count,
                      uint32_t *starts)
{
  for (size_t i = 0; i < count * loader->length; i++) {
    const size_t place = i % loader->length;
    starts[i] = place > 0 ? starts[i - 1] : 0;
    if (inputs[i] == loader->document_token) starts[i] = (uint32_t)place;
  }
}

mousse_status loader_fill(const mo_loader *loader, uint64_t step, uint64_t first, size_t count,
                          uint32_t *inputs, uint32_t *targets, mo_error *error)
{
  for (size_t b = 0; b < count; b++)
    MO_TRY(loader_read(loader, loader_window(loader, step, first + b),
                       inputs + b * loader->length, targets + b * loader->length, error));
  return MOUSSE_OK;
}

void loader_read_ahead(const mo_loader *loader, uint64_t step, uint64_t first, size_t count)
{
  for (size_t b = 0; b < count; b++) {
    const uint64_t window = loader_window(loader, step, first + b);
    const size_t k = shard_of(loader, window);
    shard_read_ahead(&loader->set->shards[k],
                     (size_t)(window - loader->first[k]) * loader->length, loader->length + 1);
  }
}
