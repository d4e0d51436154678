/* shard_writer.c - writing one file of tokens; the count goes into the header at the end. */
#include "data/shards/shard.h"

#include <string.h>

mousse_status shard_writer_open(shard_writer *writer, const char *path, uint32_t vocabulary,
                                mo_error *error)
{
  const char header[SHARD_HEADER_BYTES] = {0};
  writer->width = vocabulary <= 65536 ? 2 : 4;
  writer->count = 0;
  MO_TRY(mo_writer_open(&writer->file, path, error));
  const mousse_status status = mo_writer_write(&writer->file, header, sizeof header, error);
  if (status != MOUSSE_OK) mo_writer_abandon(&writer->file);
  return status;
}

static mousse_status add_narrow(shard_writer *writer, const uint32_t *ids, size_t count,
                                mo_error *error)
{
  uint16_t narrow[8192];
  for (size_t done = 0; done < count;) {
    const size_t block = count - done < 8192 ? count - done : 8192;
    for (size_t i = 0; i < block; i++) narrow[i] = (uint16_t)ids[done + i];
    MO_TRY(mo_writer_write(&writer->file, narrow, block * sizeof *narrow, error));
    done += block;
  }
  return MOUSSE_OK;
}

mousse_status shard_writer_add(shard_writer *writer, const uint32_t *ids, size_t count,
                               mo_error *error)
{
  if (count > SHARD_MOST_TOKENS - writer->count)
    return mo_fail(error, MOUSSE_OUT_OF_RANGE, "%s: a shard holds at most %d tokens",
                   writer->file.path, SHARD_MOST_TOKENS);
  if (writer->width == 2)
    MO_TRY(add_narrow(writer, ids, count, error));
  else
    MO_TRY(mo_writer_write(&writer->file, ids, count * sizeof *ids, error));
  writer->count += count;
  return MOUSSE_OK;
}

mousse_status shard_writer_commit(shard_writer *writer, mo_error *error)
{
  const int32_t header[3] = {writer->width == 2 ? SHARD_MAGIC_16 : SHARD_MAGIC_32,
                             writer->width == 2 ? SHARD_VERSION_16 : SHARD_VERSION_32,
                             (int32_t)writer->count};
  const mousse_status status = mo_writer_patch(&writer->file, 0, header, sizeof header, error);
  if (status != MOUSSE_OK) {
    mo_writer_abandon(&writer->file);
    return status;
  }
  return mo_writer_commit(&writer->file, error);
}

void shard_writer_abandon(shard_writer *writer)
{
  mo_writer_abandon(&writer->file);
}
