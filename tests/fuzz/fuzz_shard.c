/* fuzz_shard.c - a token shard from any bytes. */
#include "data/shards/shard.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  mo_shard shard;
  mo_error error;
  uint32_t ids[16];
  if (shard_parse(&shard, "input", data, size, 1000, &error) != MOUSSE_OK) return 0;
  for (size_t at = 0; at < shard.count; at += 16) {
    const size_t count = shard.count - at < 16 ? shard.count - at : 16;
    if (shard_read(&shard, at, count, ids, &error) != MOUSSE_OK) break;
    for (size_t i = 0; i < count; i++) FUZZ_CHECK(ids[i] < 1000);
  }
  return 0;
}
