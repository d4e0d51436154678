/* not_text.h - files that are recognised by their first bytes and cannot be read as text. */
#ifndef MOUSSE_DATA_TEXT_NOT_TEXT_H
#define MOUSSE_DATA_TEXT_NOT_TEXT_H

#include "base/error.h"

#include <stddef.h>

/* data: how the file begins, after decompression. Fails where that is a token shard, an archive, text
 * that is compressed in another way than gzip or zstd, or a table of Parquet's or Arrow's kind. */
mousse_status not_text_refuse(const char *path, const char *data, size_t size, mo_error *error);

#endif
