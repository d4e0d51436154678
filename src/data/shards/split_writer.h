/* split_writer.h - the shards of one split, NAME_SPLIT_000000.bin and on, and their counts. */
#ifndef MOUSSE_DATA_SHARDS_SPLIT_WRITER_H
#define MOUSSE_DATA_SHARDS_SPLIT_WRITER_H

#include "data/shards/dataset.h"

typedef struct split_writer {
  const char *directory, *name, *split; /* borrowed */
  uint32_t vocabulary;
  uint64_t shard_tokens; /* a shard is full with this many */
  bool has_targets;      /* it is said which tokens are to be learned */
  bool is_open;
  shard_writer shard;
  targets_writer targets; /* open with the shard, with has_targets */
  dataset_split counts;
  bool last_is_open; /* the last text is to be ended by a token before the next */
} split_writer;

/* are_targets: with has_targets, whether these are to be learned. */
mousse_status split_writer_add(split_writer *writer, const uint32_t *ids, size_t count,
                               bool are_targets, mo_error *error);
mousse_status split_writer_finish(split_writer *writer, mo_error *error);
void split_writer_abandon(split_writer *writer);

#endif
