/* not_text.c - token shards, archives and the like, told from text by their first bytes. Every
 * sequence here has a byte that text does not have, or is too odd for one. */
#include "data/text/not_text.h"

#include "data/text/shard_magic.h"

#include <stdint.h>
#include <string.h>

#define UNPACK  "unpack it first; gzip and zstd are read as they are"
#define CONVERT "convert it to JSON lines (.jsonl) first"

static const struct {
  size_t at, length;
  const char *bytes, *what, *remedy;
} kinds[] = {
    {0, 6, "\xfd\x37zXZ\0", "compressed with xz", UNPACK},
    {4, 6, "1AY&SY", "compressed with bzip2", UNPACK}, /* after BZh and a digit */
    {0, 4, "PK\3\4", "a zip archive", UNPACK},
    {0, 6, "7z\xbc\xaf\x27\x1c", "a 7z archive", UNPACK},
    {257, 6, "ustar\0", "a tar archive", "unpack it first"},
    {257, 8, "ustar  \0", "a tar archive", "unpack it first"}, /* GNU's */
    {0, 5, "PAR1\x15", "a Parquet file", CONVERT},
    {0, 8, "ARROW1\0\0", "an Arrow file", CONVERT},
    {0, 5, "%PDF-", "a PDF", "extract its text first"},
};

static mousse_status refuse_tokens(const char *path, const char *data, size_t size,
                                   mo_error *error)
{
  int32_t header[2];
  if (size < sizeof header) return MOUSSE_OK;
  memcpy(header, data, sizeof header);
  if ((header[0] == SHARD_MAGIC_16 && header[1] == SHARD_VERSION_16) ||
      (header[0] == SHARD_MAGIC_32 && header[1] == SHARD_VERSION_32))
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: is a token shard, not text (magic number %d, version %d); 'mousse "
                   "text SHARD.bin --out FILE' turns it back into text",
                   path, header[0], header[1]);
  if (header[0] == SHARD_MAGIC_TARGETS && header[1] == SHARD_VERSION_TARGETS)
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: belongs to a token shard and is not text (magic number %d, version "
                   "%d); leave it out",
                   path, header[0], header[1]);
  return MOUSSE_OK;
}

mousse_status not_text_refuse(const char *path, const char *data, size_t size, mo_error *error)
{
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (size >= kinds[i].at + kinds[i].length &&
        memcmp(data + kinds[i].at, kinds[i].bytes, kinds[i].length) == 0)
      return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: is %s, not text; %s", path, kinds[i].what,
                     kinds[i].remedy);
  return refuse_tokens(path, data, size, error);
}
