/* part_writer.h - the shards of one split, NAME_SPLIT_000000.bin and so on, and their counts.
 */
#ifndef MOUSSE_DATA_SHARDS_SPLIT_WRITER_H
#define MOUSSE_DATA_SHARDS_SPLIT_WRITER_H

#include "data/shards/dataset.h"

typedef struct part_writer {
  const char *directory, *name, *split; /* borrowed */
  uint32_t vocabulary;
  uint64_t shard_tokens; /* a shard is full with this many */
  bool is_open;
  shard_writer shard;
  dataset_part counts;
} part_writer;

mousse_status part_writer_add(part_writer *writer, const uint32_t *ids, size_t count,
                              mo_error *error);
mousse_status part_writer_finish(part_writer *writer, mo_error *error);
void part_writer_abandon(part_writer *writer);

#endif
