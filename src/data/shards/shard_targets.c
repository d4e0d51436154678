/* shard_targets.c - which tokens of a shard are to be learned: NAME.targets, read and written. */
#include "data/shards/shard.h"

#include <stdio.h>
#include <string.h>

bool shard_targets_path(char *path, size_t capacity, const char *shard)
{
  const size_t length = strlen(shard), end = strlen(".bin");
  if (length <= end || strcmp(shard + length - end, ".bin") != 0) return false;
  const int written = snprintf(path, capacity, "%.*s.targets", (int)(length - end), shard);
  return written > 0 && (size_t)written < capacity;
}

mousse_status shard_parse_targets(const char *path, const void *data, size_t size, size_t count,
                                  const unsigned char **bits, mo_error *error)
{
  int32_t header[3];
  const size_t expected = SHARD_HEADER_BYTES + (count + 7) / 8;
  if (size < SHARD_HEADER_BYTES)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: %zu bytes, shorter than its header of %d",
                   path, size, SHARD_HEADER_BYTES);
  memcpy(header, data, sizeof header);
  if (header[0] != SHARD_MAGIC_TARGETS || header[1] != SHARD_VERSION_TARGETS)
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: magic number %d and version %d, expected %d and %d; 'mousse tokenize "
                   "--completion-field' makes such files",
                   path, header[0], header[1], SHARD_MAGIC_TARGETS, SHARD_VERSION_TARGETS);
  if (header[2] < 0 || (size_t)header[2] != count || size != expected)
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: %d tokens in %zu bytes, but the shard beside it has %zu tokens, which "
                   "make %zu bytes; tokenize the data again",
                   path, header[2], size, count, expected);
  *bits = (const unsigned char *)data + SHARD_HEADER_BYTES;
  return MOUSSE_OK;
}

mousse_status targets_writer_open(targets_writer *w, const char *path, mo_error *error)
{
  const char header[SHARD_HEADER_BYTES] = {0};
  w->count = 0;
  w->bits = 0;
  MO_TRY(mo_writer_open(&w->file, path, error));
  const mousse_status status = mo_writer_write(&w->file, header, sizeof header, error);
  if (status != MOUSSE_OK) mo_writer_abandon(&w->file);
  return status;
}

mousse_status targets_writer_add(targets_writer *w, bool are_targets, size_t count,
                                 mo_error *error)
{
  for (size_t i = 0; i < count; i++) {
    if (are_targets) w->bits |= (unsigned char)(1u << w->count % 8);
    if (++w->count % 8 != 0) continue;
    MO_TRY(mo_writer_write(&w->file, &w->bits, 1, error));
    w->bits = 0;
  }
  return MOUSSE_OK;
}

mousse_status targets_writer_commit(targets_writer *w, mo_error *error)
{
  const int32_t header[3] = {SHARD_MAGIC_TARGETS, SHARD_VERSION_TARGETS, (int32_t)w->count};
  mousse_status status = MOUSSE_OK;
  if (w->count % 8 != 0) status = mo_writer_write(&w->file, &w->bits, 1, error);
  if (status == MOUSSE_OK) status = mo_writer_patch(&w->file, 0, header, sizeof header, error);
  if (status == MOUSSE_OK) return mo_writer_commit(&w->file, error);
  mo_writer_abandon(&w->file);
  return status;
}

void targets_writer_abandon(targets_writer *w)
{
  mo_writer_abandon(&w->file);
}
