/* rdata.c - the files of an R lazy-load database, and their compression. */
#include "data/text/rdata.h"

#include "data/text/text_stream.h"

#include <bzlib.h>
#include <lzma.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

enum { LARGEST_INDEX = 1 << 24, LARGEST_VARIABLE = 1 << 30 };

/* The index is gzip'd, which stream.c undoes. */
static mousse_status read_index(const char *path, text_buffer *index, mo_error *error)
{
  text_stream *s = NULL;
  char block[4096];
  size_t got = 1;
  MO_TRY(text_stream_open(&s, path, error));
  mousse_status status = MOUSSE_OK;
  while (status == MOUSSE_OK && got > 0) {
    status = text_stream_read(s, block, sizeof block, &got, error);
    if (status == MOUSSE_OK && index->size + got > LARGEST_INDEX)
      status = mo_fail(error, MOUSSE_BAD_FORMAT, "%s: index larger than %d bytes", path,
                       LARGEST_INDEX);
    if (status == MOUSSE_OK && !text_buffer_add(index, block, got))
      status = mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory", path);
  }
  text_stream_close(s);
  return status;
}

mousse_status rdata_open(mo_rdata *rdata, const char *path, mo_error *error)
{
  text_buffer index = {0};
  *rdata = (struct mo_rdata){0};
  const size_t length = strlen(path);
  if (length < 4 || length >= sizeof rdata->path || strcmp(path + length - 4, ".rdx") != 0)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "%s: expected the path of an .rdx file",
                   path);
  memcpy(rdata->path, path, length + 1);
  rdata->path[length - 1] = 'b';
  mousse_status status = read_index(path, &index, error);
  if (status == MOUSSE_OK)
    status = rdata_parse_index(rdata, path, index.data, index.size, error);
  text_buffer_close(&index);
  if (status == MOUSSE_OK) status = mo_map_open(&rdata->map, rdata->path, error);
  if (status != MOUSSE_OK) rdata_close(rdata);
  return status;
}

void rdata_close(mo_rdata *rdata)
{
  mo_release(NULL, rdata->variables, rdata->names.count * sizeof *rdata->variables);
  text_table_close(&rdata->names);
  mo_map_close(&rdata->map);
  *rdata = (struct mo_rdata){0};
}

static bool unpack_bzip2(const unsigned char *from, size_t size, char *to, size_t wanted)
{
  unsigned got = (unsigned)wanted;
  char *source = (char *)(uintptr_t)from; /* bzlib does not say const, but only reads */
  return BZ2_bzBuffToBuffDecompress(to, &got, source, (unsigned)size, 0, 0) == BZ_OK &&
         got == wanted;
}

static bool unpack_lzma(const unsigned char *from, size_t size, char *to, size_t wanted)
{
  lzma_options_lzma options;
  if (lzma_lzma_preset(&options, 6)) return false;
  const lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, NULL}};
  size_t in = 0, out = 0;
  return lzma_raw_buffer_decode(filters, NULL, from, &in, size, (unsigned char *)to, &out,
                                wanted) == LZMA_OK &&
         out == wanted;
}

static bool unpack_zlib(const unsigned char *from, size_t size, char *to, size_t wanted)
{
  uLongf got = wanted;
  return uncompress((unsigned char *)to, &got, from, size) == Z_OK && got == wanted;
}

static bool unpack(const unsigned char *chunk, size_t size, char *to, size_t wanted)
{
  if (chunk[4] == '2') return unpack_bzip2(chunk + 5, size - 5, to, wanted);
  if (chunk[4] == 'Z') return unpack_lzma(chunk + 5, size - 5, to, wanted);
  return unpack_zlib(chunk + 4, size - 4, to, wanted);
}

mousse_status rdata_text(const mo_rdata *rdata, uint32_t number, text_buffer *text,
                         mo_error *error)
{
  const rdata_variable v = rdata->variables[number];
  size_t name_length = 0;
  const char *name = text_table_get(&rdata->names, number, &name_length);
  if (v.length < 6 || v.offset > rdata->map.size || v.length > rdata->map.size - v.offset)
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: variable '%s' is at bytes %llu + %llu, but the file has %zu",
                   rdata->path, name, (unsigned long long)v.offset,
                   (unsigned long long)v.length, rdata->map.size);
  const unsigned char *chunk = rdata->map.data + v.offset;
  const size_t wanted = (size_t)chunk[0] << 24 | (size_t)chunk[1] << 16 |
                        (size_t)chunk[2] << 8 | (size_t)chunk[3];
  /* Nothing packs text ten thousand to one: a larger claim is damage. */
  if (wanted > LARGEST_VARIABLE || wanted / 10000 > v.length)
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: variable '%s' claims to unpack from %llu to %zu bytes", rdata->path,
                   name, (unsigned long long)v.length, wanted);
  char *unpacked = mo_allocate(NULL, wanted);
  if (unpacked == NULL)
    return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory for '%s'", rdata->path, name);
  mousse_status status = MOUSSE_OK;
  if (!unpack(chunk, (size_t)v.length, unpacked, wanted))
    status = mo_fail(error, MOUSSE_BAD_FORMAT, "%s: variable '%s' does not unpack", rdata->path,
                     name);
  else
    status = rdata_parse_text(name, unpacked, wanted, text, error);
  mo_release(NULL, unpacked, wanted);
  return status;
}
