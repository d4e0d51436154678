/* text_stream.h - the bytes of a file, decompressed when it starts like gzip or zstd; the only
 * file that uses zlib's inflate and zstd. */
#ifndef MOUSSE_DATA_TEXT_TEXT_STREAM_H
#define MOUSSE_DATA_TEXT_TEXT_STREAM_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct text_stream text_stream;

mousse_status text_stream_open(text_stream **stream, const char *path, mo_error *error);
void text_stream_close(text_stream *stream); /* accepts NULL */

/* Up to capacity bytes; *got is 0 only at the end. A compressed file that ends early fails. */
mousse_status text_stream_read(text_stream *stream, char *buffer, size_t capacity, size_t *got,
                               mo_error *error);

/* Is the file compressed? Its first bytes tell. */
bool text_stream_is_packed(const text_stream *stream);

/* Bytes of the file itself taken so far: what progress is measured in. */
uint64_t text_stream_consumed(const text_stream *stream);

#endif
