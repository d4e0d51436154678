/* safetensors_write.c - writes matrices and vectors as a safetensors file, complete or absent. */
#include "gpt/safetensors.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the numbers of a safetensors file are little-endian; this machine's are not"
#endif

static size_t value_count(const safetensors_matrix *m)
{
  return (m->rows > 0 ? m->rows : 1) * m->cols;
}

static json_t *shape_json(const safetensors_matrix *m)
{
  return m->rows == 0 ? json_pack("[I]", (json_int_t)m->cols)
                      : json_pack("[I, I]", (json_int_t)m->rows, (json_int_t)m->cols);
}

/* The header as text, owned by the caller (free); NULL: no memory. */
static char *header_text(const safetensors_matrix *matrices, size_t count,
                         const safetensors_numbers *numbers)
{
  json_t *header = json_object();
  json_int_t offset = 0;
  int failed = header == NULL;
  if (numbers->note != NULL)
    failed |= json_object_set_new(header, "__metadata__",
                                  json_pack("{s:s}", "format", numbers->note)) != 0;
  for (size_t i = 0; i < count && !failed; i++) {
    const safetensors_matrix *m = &matrices[i];
    const json_int_t end = offset + (json_int_t)(value_count(m) * numbers->bytes);
    json_t *entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", numbers->dtype, "shape",
                              shape_json(m), "data_offsets", offset, end);
    failed = json_object_set_new(header, m->name, entry) != 0; /* refuses NULL */
    offset = end;
  }
  char *text = failed ? NULL : json_dumps(header, JSON_COMPACT);
  json_decref(header);
  return text;
}

static mousse_status write_header(mo_writer *writer, const char *text, mo_error *error)
{
  static const char spaces[8] = "        ";
  const size_t length = strlen(text), padding = (8 - length % 8) % 8;
  unsigned char prefix[8];
  for (size_t i = 0; i < sizeof prefix; i++)
    prefix[i] = (unsigned char)((uint64_t)(length + padding) >> (8 * i));
  MO_TRY(mo_writer_write(writer, prefix, sizeof prefix, error));
  MO_TRY(mo_writer_write(writer, text, length, error));
  return mo_writer_write(writer, spaces, padding, error);
}

static mousse_status write_all(mo_writer *writer, const char *text,
                               const safetensors_matrix *matrices, size_t count,
                               const safetensors_numbers *numbers, mo_error *error)
{
  MO_TRY(write_header(writer, text, error));
  for (size_t i = 0; i < count; i++) {
    const void *bytes = numbers->get(numbers->user, i);
    if (bytes == NULL)
      return mo_fail(error, MOUSSE_NO_MEMORY, "no memory to write '%s'", matrices[i].name);
    MO_TRY(mo_writer_write(writer, bytes, value_count(&matrices[i]) * numbers->bytes, error));
  }
  return MOUSSE_OK;
}

mousse_status safetensors_write_as(const char *path, const safetensors_matrix *matrices,
                                   size_t count, const safetensors_numbers *numbers,
                                   mo_error *error)
{
  mo_writer writer;
  char *text = header_text(matrices, count, numbers);
  if (text == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory for a header", path);
  mousse_status status = mo_writer_open(&writer, path, error);
  if (status == MOUSSE_OK) {
    status = write_all(&writer, text, matrices, count, numbers, error);
    if (status == MOUSSE_OK)
      status = mo_writer_commit(&writer, error);
    else
      mo_writer_abandon(&writer);
  }
  free(text);
  return status;
}

static const void *own_value(void *user, size_t matrix)
{
  return ((const safetensors_matrix *)user)[matrix].value;
}

mousse_status safetensors_write(const char *path, const safetensors_matrix *matrices,
                                size_t count, mo_error *error)
{
  safetensors_numbers numbers = {.dtype = "F32", .bytes = sizeof(float), .get = own_value};
  memcpy(&numbers.user, &matrices, sizeof matrices); /* borrowed, and only read */
  return safetensors_write_as(path, matrices, count, &numbers, error);
}
