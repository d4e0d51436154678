/* shard_set.h - several shards as one source of tokens, in the order of their names.
 *
 * Named by a directory and a split ("train": the files *_train_*.bin in it, or else
 * *_train.bin; "val": *_val_*.bin or *_val.bin; of a name with both words the last one counts),
 * by a pattern ("data/fineweb_train_*.bin"), by
 * one file; or by several of these with weights (mixture.h), each of which is a source.
 */
#ifndef MOUSSE_DATA_SHARDS_SHARD_SET_H
#define MOUSSE_DATA_SHARDS_SHARD_SET_H

#include "data/shards/mixture.h"
#include "data/shards/shard.h"

/* Shards first .. first + count - 1 of a set. */
typedef struct shard_source {
  size_t first, count;
  double weight;
} shard_source;

typedef struct shard_set {
  mo_shard *shards; /* owned */
  size_t count;
  uint64_t tokens; /* of all shards */
  shard_source sources[MIXTURE_MOST];
  size_t source_count; /* 0 or 1: all shards are one source */
} shard_set;

/* split is used only for directories. Of several sources, one may have no "val"; it is left
 * out. */
mousse_status shard_set_open(shard_set *set, const char *path, const char *split,
                             uint32_t vocabulary, mo_error *error);
void shard_set_close(shard_set *set); /* accepts a zeroed or closed set */

/* Is there any shard of this split? For sets where it may be missing. */
bool shard_set_exists(const char *path, const char *split);

#endif
