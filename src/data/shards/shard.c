/* shard.c - reading one file of tokens. */
#include "data/shards/shard.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "token shards are mapped as they are: this needs a little-endian machine"
#endif

static mousse_status check_format(const int32_t *header, size_t *width, const char *path,
                                  mo_error *error)
{
  const int32_t magic = header[0], version = header[1];
  if (magic != SHARD_MAGIC_16 && magic != SHARD_MAGIC_32)
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: not a token shard: magic number %d, expected %d (uint16 tokens) or %d "
                   "(uint32 tokens); 'mousse tokenize' makes shards from text",
                   path, magic, SHARD_MAGIC_16, SHARD_MAGIC_32);
  const int32_t expected = magic == SHARD_MAGIC_16 ? SHARD_VERSION_16 : SHARD_VERSION_32;
  if (version != expected)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: token shard version %d, expected %d", path,
                   version, expected);
  *width = magic == SHARD_MAGIC_16 ? 2 : 4;
  return MOUSSE_OK;
}

mousse_status shard_parse(mo_shard *shard, const char *path, const void *data, size_t size,
                          uint32_t vocabulary, mo_error *error)
{
  int32_t header[3];
  size_t width = 0;
  if (size < SHARD_HEADER_BYTES)
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: %zu bytes, shorter than the %d bytes of a token shard's header", path,
                   size, SHARD_HEADER_BYTES);
  memcpy(header, data, sizeof header);
  MO_TRY(check_format(header, &width, path, error));
  if (header[2] <= 0)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: token count %d in the header, expected > 0",
                   path, header[2]);
  const uint64_t expected = SHARD_HEADER_BYTES + (uint64_t)header[2] * width;
  if (size != expected)
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: %zu bytes, but %d tokens of %zu bytes and the header make %llu: the "
                   "file is %s",
                   path, size, header[2], width, (unsigned long long)expected,
                   size < expected ? "cut off" : "longer than its header says");
  *shard = (struct mo_shard){.tokens = (const unsigned char *)data + SHARD_HEADER_BYTES,
                             .count = (size_t)header[2],
                             .width = width,
                             .vocabulary = vocabulary};
  snprintf(shard->path, sizeof shard->path, "%s", path);
  return MOUSSE_OK;
}

static mousse_status open_targets(mo_shard *shard, mo_error *error)
{
  char path[4096];
  if (!shard_targets_path(path, sizeof path, shard->path) || access(path, F_OK) != 0)
    return MOUSSE_OK;
  MO_TRY(mo_map_open(&shard->targets_map, path, error));
  return shard_parse_targets(path, shard->targets_map.data, shard->targets_map.size,
                             shard->count, &shard->targets, error);
}

mousse_status shard_open(mo_shard *shard, const char *path, uint32_t vocabulary,
                         mo_error *error)
{
  mo_map map;
  MO_TRY(mo_map_open(&map, path, error));
  const mousse_status status = shard_parse(shard, path, map.data, map.size, vocabulary, error);
  if (status != MOUSSE_OK) {
    mo_map_close(&map);
    return status;
  }
  shard->map = map;
  const mousse_status targets = open_targets(shard, error);
  if (targets != MOUSSE_OK) shard_close(shard);
  return targets;
}

void shard_close(mo_shard *shard)
{
  mo_map_close(&shard->map);
  mo_map_close(&shard->targets_map);
  *shard = (struct mo_shard){0};
}

/* Touching a page beyond the end of a file that shrank kills the process, so look first. A file
 * that was removed or replaced stays whole under the map. No descriptor is kept open: a data
 * set may have more shards than a process may have files. */
static mousse_status check_map(const char *path, const mo_map *map, mo_error *error)
{
  struct stat info;
  if (map->data == NULL || stat(path, &info) != 0) return MOUSSE_OK;
  if (info.st_dev != map->device || info.st_ino != map->inode) return MOUSSE_OK;
  if ((uint64_t)info.st_size >= map->size) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_IO, "%s: shrank from %zu to %lld bytes while in use", path,
                 map->size, (long long)info.st_size);
}

mousse_status shard_check(const mo_shard *shard, mo_error *error)
{
  char path[4096];
  MO_TRY(check_map(shard->path, &shard->map, error));
  if (shard->targets_map.data == NULL || !shard_targets_path(path, sizeof path, shard->path))
    return MOUSSE_OK;
  return check_map(path, &shard->targets_map, error);
}

static void widen(const mo_shard *shard, size_t first, size_t count, uint32_t *ids)
{
  const unsigned char *from = shard->tokens + first * shard->width;
  if (shard->width == 4) {
    memcpy(ids, from, count * 4);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    uint16_t id = 0;
    memcpy(&id, from + 2 * i, sizeof id);
    ids[i] = id;
  }
}

static mousse_status check_ids(const mo_shard *shard, size_t first, size_t count,
                               const uint32_t *ids, mo_error *error)
{
  uint32_t largest = 0;
  for (size_t i = 0; i < count; i++) largest = ids[i] > largest ? ids[i] : largest;
  if (shard->vocabulary == 0 || largest < shard->vocabulary) return MOUSSE_OK;
  size_t at = 0;
  while (ids[at] < shard->vocabulary) at++;
  return mo_fail(error, MOUSSE_BAD_FORMAT,
                 "%s: token %zu is %u, but the vocabulary has %u tokens; was the shard made "
                 "with another tokenizer?",
                 shard->path, first + at, ids[at], shard->vocabulary);
}

mousse_status shard_read(const mo_shard *shard, size_t first, size_t count, uint32_t *ids,
                         mo_error *error)
{
  if (first > shard->count || count > shard->count - first)
    return mo_fail(error, MOUSSE_OUT_OF_RANGE,
                   "%s: tokens %zu to %zu requested, but there are only %zu", shard->path,
                   first, first + count, shard->count);
  MO_TRY(shard_check(shard, error));
  widen(shard, first, count, ids);
  return check_ids(shard, first, count, ids, error);
}

void shard_read_ahead(const mo_shard *shard, size_t first, size_t count)
{
  if (shard->map.data == NULL) return;
  const size_t start = (size_t)(shard->tokens - shard->map.data) + first * shard->width;
  mo_map_read_ahead(&shard->map, start, count * shard->width);
}
