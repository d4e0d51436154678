/* decode.h - token shards back to text. */
#ifndef MOUSSE_DATA_SHARDS_DECODE_H
#define MOUSSE_DATA_SHARDS_DECODE_H

#include "data/shards/shard.h"
#include "data/tokenizer/tokenizer.h"

/* Called for each part of a document, in order. */
typedef mousse_status (*decode_text_fn)(void *user, const char *text, size_t length,
                                        bool starts_document, mo_error *error);

#define DECODE_NOTHING ((uint32_t)-2) /* no id, nor that of a tokenizer that lacks a token */

/* tokenizer: "" for the one in the shard's directory. *before: the last id of the shard that this
 * one goes on with, or DECODE_NOTHING; set to its own last id. A document may start with the last
 * token of a shard, and what follows must know. */
mousse_status decode_shard(const char *path, const char *tokenizer, uint32_t *before,
                           decode_text_fn part, void *user, mo_error *error);

/* The text of some ids; end-of-text tokens are left out. */
mousse_status decode_ids(const mo_tokenizer *tokenizer, const uint32_t *ids, size_t count,
                         mo_buffer *text, mo_error *error);

#endif
