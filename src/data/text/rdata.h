/* rdata.h - text out of an R package's lazy-load database, without R.
 *
 *     NAME.rdx  compressed serialization of list(variables = list(x = c(offset, length), ...))
 *     NAME.rdb  at each offset: uint32 (big-endian) size when unpacked; a type byte '2' (bzip2)
 *               or 'Z' (raw LZMA2), or none and zlib data at once; then the compressed
 *               serialization of the variable
 *
 * Serialization: "X\n", then big-endian int32s: format version 2 or 3, two R versions, in
 * version 3 the length and name of the native encoding, then one item. An item starts with
 * flags: type in bits 0..7, "has attributes" in bit 9, "has a tag" in bit 10. Handled are the
 * types that data consist of: NULL, symbols, pair lists, strings, and vectors of logicals,
 * integers, numbers, strings and lists.
 */
#ifndef MOUSSE_DATA_TEXT_RDATA_H
#define MOUSSE_DATA_TEXT_RDATA_H

#include "base/buffer.h"
#include "base/file.h"
#include "base/table.h"

typedef struct rdata_variable {
  uint64_t offset, length;
} rdata_variable;

typedef struct mo_rdata {
  text_table names; /* of the variables, each with its NUL */
  rdata_variable *variables;
  mo_map map; /* of the .rdb */
  char path[4096];
} mo_rdata;

/* path is that of the .rdx; the .rdb lies beside it. */
mousse_status rdata_open(mo_rdata *rdata, const char *path, mo_error *error);
void rdata_close(mo_rdata *rdata); /* accepts a zeroed or closed one */

/* Appends the strings of variable `number`, each with a line end. */
mousse_status rdata_text(const mo_rdata *rdata, uint32_t number, text_buffer *text,
                         mo_error *error);

/* rdata_item.c: the serialization itself; name is what messages call it. */
mousse_status rdata_parse_index(mo_rdata *rdata, const char *name, const char *data,
                                size_t size, mo_error *error);
mousse_status rdata_parse_text(const char *name, const char *data, size_t size,
                               text_buffer *text, mo_error *error);

#endif
