/* download_check.c - sizes and checksums of files that were fetched. */
#include "data/shards/download_check.h"

#include "base/file.h"
#include "data/shards/shard.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { FOREIGN_BYTES = 1 << 16 };

static mousse_status checksum(const char *path, char text[MO_SHA256_TEXT], mo_error *error)
{
  unsigned char buffer[1 << 14];
  mo_sha256 sha;
  size_t size = 0;
  int fd = -1;
  ssize_t got = 1;
  MO_TRY(mo_file_open(path, &fd, &size, error));
  mo_sha256_start(&sha);
  while (got != 0) {
    got = read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    mo_sha256_add(&sha, buffer, (size_t)got);
  }
  const int reason = errno;
  close(fd);
  if (got < 0) return mo_fail(error, MOUSSE_IO, "%s: cannot read: %s", path, strerror(reason));
  mo_sha256_finish(&sha, text);
  return MOUSSE_OK;
}

static mousse_status check_checksum(const char *path, const char *expected, mo_error *error)
{
  char found[MO_SHA256_TEXT];
  MO_TRY(checksum(path, found, error));
  if (strcmp(found, expected) == 0) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: its SHA-256 is %s, expected %s", path, found,
                 expected);
}

static mousse_status check_size(const char *path, uint64_t expected, mo_error *error)
{
  size_t size = 0;
  int fd = -1;
  MO_TRY(mo_file_open(path, &fd, &size, error));
  close(fd);
  if (expected == 0 || size == expected) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: %zu bytes, expected %llu", path, size,
                 (unsigned long long)expected);
}

mousse_status download_check(const char *path, const download_expected *expected,
                             const char *sha256, mo_error *error)
{
  mo_shard shard;
  const char *known = expected->sha256 != NULL ? expected->sha256 : sha256;
  MO_TRY(check_size(path, expected->bytes, error));
  if (expected->vocabulary > 0) {
    MO_TRY(shard_open(&shard, path, expected->vocabulary, error));
    shard_close(&shard);
  }
  return known[0] != '\0' ? check_checksum(path, known, error) : MOUSSE_OK;
}

uint64_t download_size(const download_expected *expected, const void *start, size_t bytes)
{
  int32_t header[3];
  if (expected->bytes > 0) return expected->bytes;
  if (expected->vocabulary == 0) return expected->most_bytes;
  if (bytes < sizeof header) return 0;
  memcpy(header, start, sizeof header);
  const bool is_shard = header[0] == SHARD_MAGIC_16 || header[0] == SHARD_MAGIC_32;
  if (!is_shard || header[2] <= 0) return FOREIGN_BYTES;
  const uint64_t width = header[0] == SHARD_MAGIC_16 ? 2 : 4;
  return SHARD_HEADER_BYTES + width * (uint64_t)header[2];
}

void download_read_header(const char *line, size_t length, char sha256[MO_SHA256_TEXT])
{
  static const char name[] = "x-linked-etag:";
  const char *end = line + length;
  if (length < strlen(name) || strncasecmp(line, name, strlen(name)) != 0) return;
  for (line += strlen(name); line < end && (*line == ' ' || *line == '"'); line++) {
  }
  if (end - line < MO_SHA256_TEXT - 1) return;
  for (int i = 0; i < MO_SHA256_TEXT - 1; i++)
    if (!isxdigit((unsigned char)line[i])) return;
  for (int i = 0; i < MO_SHA256_TEXT - 1; i++)
    sha256[i] = (char)tolower((unsigned char)line[i]);
  sha256[MO_SHA256_TEXT - 1] = '\0';
}
