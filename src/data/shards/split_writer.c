/* split_writer.c - the shards of one split. */
#include "data/shards/split_writer.h"

#include <stdio.h>

static mousse_status open_targets(split_writer *writer, const char *shard, mo_error *error)
{
  char path[4096];
  if (!writer->has_targets) return MOUSSE_OK;
  if (!shard_targets_path(path, sizeof path, shard))
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "%s: path is too long", shard);
  return targets_writer_open(&writer->targets, path, error);
}

static mousse_status open_shard(split_writer *writer, mo_error *error)
{
  char path[4096];
  const int length =
      snprintf(path, sizeof path, "%s/%s_%s_%06llu.bin", writer->directory, writer->name,
               writer->split, (unsigned long long)writer->counts.shards);
  if (length < 0 || (size_t)length >= sizeof path)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "%s: path is too long", writer->directory);
  MO_TRY(shard_writer_open(&writer->shard, path, writer->vocabulary, error));
  const mousse_status status = open_targets(writer, path, error);
  if (status != MOUSSE_OK) {
    shard_writer_abandon(&writer->shard);
    return status;
  }
  writer->is_open = true;
  writer->counts.shards++;
  return MOUSSE_OK;
}

mousse_status split_writer_finish(split_writer *writer, mo_error *error)
{
  if (!writer->is_open) return MOUSSE_OK;
  if (writer->has_targets) {
    const mousse_status status = targets_writer_commit(&writer->targets, error);
    if (status != MOUSSE_OK) {
      writer->is_open = false;
      shard_writer_abandon(&writer->shard);
      return status;
    }
  }
  writer->is_open = false;
  return shard_writer_commit(&writer->shard, error);
}

mousse_status split_writer_add(split_writer *writer, const uint32_t *ids, size_t count,
                               bool are_targets, mo_error *error)
{
  for (size_t done = 0; done < count;) {
    if (!writer->is_open) MO_TRY(open_shard(writer, error));
    const uint64_t room = writer->shard_tokens - writer->shard.count;
    const size_t part = count - done < room ? count - done : (size_t)room;
    MO_TRY(shard_writer_add(&writer->shard, ids + done, part, error));
    if (writer->has_targets)
      MO_TRY(targets_writer_add(&writer->targets, are_targets, part, error));
    done += part;
    writer->counts.tokens += part;
    if (part == room) MO_TRY(split_writer_finish(writer, error));
  }
  return MOUSSE_OK;
}

void split_writer_abandon(split_writer *writer)
{
  if (writer->is_open) shard_writer_abandon(&writer->shard);
  if (writer->is_open && writer->has_targets) targets_writer_abandon(&writer->targets);
  writer->is_open = false;
}
