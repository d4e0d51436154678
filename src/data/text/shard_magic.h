/* shard_magic.h - how files of tokens begin: little-endian int32, [0] magic, [1] version.
 *
 * Here and not with shard.h, as what reads text must tell them from it.
 */
#ifndef MOUSSE_DATA_TEXT_SHARD_MAGIC_H
#define MOUSSE_DATA_TEXT_SHARD_MAGIC_H

enum {
  SHARD_MAGIC_16 = 20240520,
  SHARD_VERSION_16 = 1,
  SHARD_MAGIC_32 = 20240801,
  SHARD_VERSION_32 = 7,
  SHARD_MAGIC_TARGETS = 20261116,
  SHARD_VERSION_TARGETS = 1
};

#endif
