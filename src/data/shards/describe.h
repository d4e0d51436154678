/* describe.h - what a set of shards holds: every token is read and checked. */
#ifndef MOUSSE_DATA_SHARDS_DESCRIBE_H
#define MOUSSE_DATA_SHARDS_DESCRIBE_H

#include "data/shards/shard_set.h"

typedef struct shard_description {
  uint64_t shards, tokens, documents;
  uint32_t largest; /* id */
} shard_description;

/* end_of_text: counted as documents. seen: for ids below `ids`, set when the id occurs; other
 * ids are not noted. May be called for several sets with the same seen. */
mousse_status shard_set_describe(const shard_set *set, uint32_t end_of_text, bool *seen,
                                 uint32_t ids, shard_description *description, mo_error *error);

#endif
