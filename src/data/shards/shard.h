/* shard.h - one file of tokens, as llm.c, modded-nanogpt and FineWeb write them.
 *
 *     256 little-endian int32: [0] magic, [1] version, [2] token count, the rest 0
 *     tokens, little-endian:   magic 20240520, version 1: uint16
 *                              magic 20240801, version 7: uint32
 *
 * The file is exactly 1024 + count * width bytes long. Beside NAME.bin there may be NAME.targets,
 * which says which tokens are to be learned (those of completions, not of prompts):
 *
 *     256 little-endian int32: [0] 20261116, [1] version 1, [2] the same count, the rest 0
 *     count bits, the first token's the lowest of the first byte; unused ones are 0
 *
 * Without it all are. The count is an int32, so a shard holds
 * fewer than 2^31 tokens and may well be larger than 2 GiB.
 */
#ifndef MOUSSE_DATA_SHARDS_SHARD_H
#define MOUSSE_DATA_SHARDS_SHARD_H

#include "base/file.h"
#include "data/text/shard_magic.h"

#include <stdbool.h>
#include <stdint.h>

enum { SHARD_HEADER_BYTES = 1024 };

/* A shard opened for reading: memory-mapped, header and size checked. */
typedef struct mo_shard {
  const unsigned char *tokens; /* inside map */
  size_t count;
  size_t width;                 /* bytes of a token: 2 or 4 */
  uint32_t vocabulary;          /* ids are below this; 0: any id */
  mo_map map;                   /* owned; empty for a shard in memory */
  const unsigned char *targets; /* bits, inside targets_map; NULL: all tokens are targets */
  mo_map targets_map;           /* owned */
  char path[4096];
} mo_shard;

mousse_status shard_open(mo_shard *shard, const char *path, uint32_t vocabulary,
                         mo_error *error);
void shard_close(mo_shard *shard); /* accepts a zeroed or closed shard */

/* The same checks on bytes in memory, which stay borrowed. */
mousse_status shard_parse(mo_shard *shard, const char *path, const void *data, size_t size,
                          uint32_t vocabulary, mo_error *error);

/* The bits of NAME.targets, for a shard of `count` tokens; data stays borrowed. */
mousse_status shard_parse_targets(const char *path, const void *data, size_t size, size_t count,
                                  const unsigned char **bits, mo_error *error);
/* Only after shard_read or shard_check. */
static inline bool shard_is_target(const mo_shard *shard, size_t token)
{
  return shard->targets == NULL || (shard->targets[token / 8] >> token % 8 & 1) != 0;
}
/* "NAME.bin" has "NAME.targets"; false: the path is too long, or no such name. */
bool shard_targets_path(char *path, size_t capacity, const char *shard);

/* Fails when a file of the shard has become shorter, whose lost pages must not be touched. */
mousse_status shard_check(const mo_shard *shard, mo_error *error);

/* Copies tokens [first, first + count) to ids. Fails, naming the place, when a token is not in
 * the vocabulary, when the range is outside, or when the file has become shorter. */
mousse_status shard_read(const mo_shard *shard, size_t first, size_t count, uint32_t *ids,
                         mo_error *error);

/* Asks the system to have these tokens in memory soon; does not wait, and changes nothing. */
void shard_read_ahead(const mo_shard *shard, size_t first, size_t count);

/* A shard being written; atomic, as base/file.h. Width is 2 for a vocabulary up to 65,536. */
typedef struct shard_writer {
  mo_writer file;
  size_t width;
  uint64_t count;
} shard_writer;

enum { SHARD_MOST_TOKENS = INT32_MAX };

mousse_status shard_writer_open(shard_writer *writer, const char *path, uint32_t vocabulary,
                                mo_error *error);
mousse_status shard_writer_add(shard_writer *writer, const uint32_t *ids, size_t count,
                               mo_error *error);
mousse_status shard_writer_commit(shard_writer *writer, mo_error *error);
void shard_writer_abandon(shard_writer *writer);

/* shard_targets.c: NAME.targets, likewise; all of `count` tokens are targets, or none is. */
typedef struct targets_writer {
  mo_writer file;
  uint64_t count;
  unsigned char bits; /* of the last tokens, fewer than eight */
} targets_writer;

mousse_status targets_writer_open(targets_writer *writer, const char *path, mo_error *error);
mousse_status targets_writer_add(targets_writer *writer, bool are_targets, size_t count,
                                 mo_error *error);
mousse_status targets_writer_commit(targets_writer *writer, mo_error *error);
void targets_writer_abandon(targets_writer *writer);

#endif
