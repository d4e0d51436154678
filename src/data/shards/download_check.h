/* download_check.h - is a file that was fetched what it should be? */
#ifndef MOUSSE_DATA_SHARDS_DOWNLOAD_CHECK_H
#define MOUSSE_DATA_SHARDS_DOWNLOAD_CHECK_H

#include "base/sha256.h"
#include "data/shards/download.h"

/* sha256: "" or what the server said, where the expectation does not know it. */
mousse_status download_check(const char *path, const download_expected *expected,
                             const char *sha256, mo_error *error);

/* The size that a file beginning with these bytes should have, 0 while it cannot be told. What
 * does not begin like a shard gets little room: it is refused when it ends. */
uint64_t download_size(const download_expected *expected, const void *start, size_t bytes);

/* Takes the checksum from a line of an HTTP header, if it has one. */
void download_read_header(const char *line, size_t length, char sha256[MO_SHA256_TEXT]);

#endif
