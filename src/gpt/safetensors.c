/* safetensors.c - opens a safetensors file and checks all of it but the numbers. */
#include "gpt/safetensors.h"

#include "base/half.h"
#include "base/json_text.h"

#include <stdlib.h>
#include <string.h>

enum { LENGTH_BYTES = 8, LARGEST_HEADER = 100000000, MOST_VALUES = 1 << 20 };

static const struct {
  const char *name;
  size_t bytes;
} dtypes[] = {{"F32", 4},  {"F16", 2},     {"BF16", 2},    {"F64", 8},
              {"I8", 1},   {"I16", 2},     {"I32", 4},     {"I64", 8},
              {"U8", 1},   {"U16", 2},     {"U32", 4},     {"U64", 8},
              {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"F8_E8M0", 1}};

/* What a message about one tensor needs. */
typedef struct header_place {
  const char *path, *tensor;
  mo_error *error;
} header_place;

#define REFUSE(place, ...) mo_fail((place)->error, MOUSSE_BAD_FORMAT, __VA_ARGS__)

static mousse_status read_size(const header_place *at, const char *what, const json_t *number,
                               size_t *value)
{
  if (!json_is_integer(number) || json_integer_value(number) < 0)
    return REFUSE(at, "%s: %s of '%s' must be whole numbers >= 0", at->path, what, at->tensor);
  *value = (size_t)json_integer_value(number);
  return MOUSSE_OK;
}

static mousse_status read_dtype(const header_place *at, const json_t *object, const char **name,
                                size_t *bytes)
{
  const json_t *dtype = json_object_get(object, "dtype");
  if (!json_is_string(dtype))
    return REFUSE(at, "%s: '%s' has no dtype, expected a text such as \"F32\"", at->path,
                  at->tensor);
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
    if (strcmp(json_string_value(dtype), dtypes[i].name) != 0) continue;
    *name = dtypes[i].name;
    *bytes = dtypes[i].bytes;
    return MOUSSE_OK;
  }
  return REFUSE(at, "%s: '%s' has the unknown dtype '%.32s'", at->path, at->tensor,
                json_string_value(dtype));
}

static mousse_status read_shape(const header_place *at, const json_t *object,
                                safetensors_entry *entry)
{
  const json_t *shape = json_object_get(object, "shape");
  if (!json_is_array(shape) || json_array_size(shape) > SAFETENSORS_MAX_RANK)
    return REFUSE(at, "%s: '%s' needs a shape of at most %d numbers", at->path, at->tensor,
                  SAFETENSORS_MAX_RANK);
  entry->rank = json_array_size(shape);
  entry->count = 1;
  for (size_t i = 0; i < entry->rank; i++) {
    MO_TRY(read_size(at, "shape", json_array_get(shape, i), &entry->shape[i]));
    if (!mo_multiply(entry->count, entry->shape[i], &entry->count))
      return REFUSE(at, "%s: the shape of '%s' has more elements than can be counted", at->path,
                    at->tensor);
  }
  return MOUSSE_OK;
}

/* data_offsets must lie in the data and span exactly the shape's bytes. */
static mousse_status read_offsets(const header_place *at, const json_t *object,
                                  size_t element_bytes, const unsigned char *data,
                                  size_t data_size, safetensors_entry *entry)
{
  const json_t *offsets = json_object_get(object, "data_offsets");
  size_t begin = 0, end = 0, wanted = 0;
  if (!json_is_array(offsets) || json_array_size(offsets) != 2)
    return REFUSE(at, "%s: '%s' needs two data_offsets", at->path, at->tensor);
  MO_TRY(read_size(at, "data_offsets", json_array_get(offsets, 0), &begin));
  MO_TRY(read_size(at, "data_offsets", json_array_get(offsets, 1), &end));
  if (begin > end || end > data_size)
    return REFUSE(at, "%s: '%s' claims bytes %zu to %zu of %zu", at->path, at->tensor, begin,
                  end, data_size);
  if (!mo_multiply(entry->count, element_bytes, &wanted) || wanted != end - begin)
    return REFUSE(at, "%s: '%s' has %zu elements of %zu bytes, but data_offsets span %zu bytes",
                  at->path, at->tensor, entry->count, element_bytes, end - begin);
  entry->data = data + begin;
  entry->bytes = wanted;
  return MOUSSE_OK;
}

static mousse_status check_metadata(const header_place *at, json_t *object)
{
  const char *key = NULL;
  json_t *value = NULL;
  if (!json_is_object(object))
    return REFUSE(at, "%s: __metadata__ must be an object of texts", at->path);
  json_object_foreach(object, key, value) if (!json_is_string(value)) return REFUSE(
      at, "%s: __metadata__ entry '%.64s' is not a text", at->path, key);
  return MOUSSE_OK;
}

static int by_offset(const void *left, const void *right)
{
  const safetensors_entry *a = left, *b = right;
  if (a->data != b->data) return a->data < b->data ? -1 : 1;
  return (a->bytes > b->bytes) - (a->bytes < b->bytes); /* empty ones before their neighbour */
}

static int by_name(const void *left, const void *right)
{
  return strcmp(((const safetensors_entry *)left)->name,
                ((const safetensors_entry *)right)->name);
}

/* Sorted by offset, each entry must begin where the last one ended, up to the end of the file.
 */
static mousse_status check_cover(safetensors *file, const char *path, const unsigned char *data,
                                 size_t data_size, mo_error *error)
{
  if (file->entry_count > 0)
    qsort(file->entries, file->entry_count, sizeof *file->entries, by_offset);
  const unsigned char *next = data;
  for (size_t i = 0; i < file->entry_count; i++) {
    const safetensors_entry *entry = &file->entries[i];
    if (entry->data != next)
      return mo_fail(error, MOUSSE_BAD_FORMAT,
                     "%s: '%.64s' begins at byte %zu, expected %zu: tensors %s", path,
                     entry->name, (size_t)(entry->data - data), (size_t)(next - data),
                     entry->data < next ? "overlap" : "leave a hole");
    next += entry->bytes;
  }
  if (next != data + data_size)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: %zu bytes after the last tensor", path,
                   data_size - (size_t)(next - data));
  if (file->entry_count > 0)
    qsort(file->entries, file->entry_count, sizeof *file->entries, by_name);
  return MOUSSE_OK;
}

static mousse_status read_entries(safetensors *file, const char *path,
                                  const unsigned char *data, size_t data_size, mo_error *error)
{
  json_t *header = file->header, *object = NULL;
  const char *name = NULL;
  const size_t capacity = json_object_size(header);
  file->entries = mo_allocate(file->allocator, capacity * sizeof *file->entries);
  if (file->entries == NULL)
    return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory for %zu tensors", path, capacity);
  json_object_foreach(header, name, object)
  {
    char shown[65];
    snprintf(shown, sizeof shown, "%s", name);
    const header_place at = {path, shown, error};
    if (strcmp(name, "__metadata__") == 0) {
      MO_TRY(check_metadata(&at, object));
      continue;
    }
    safetensors_entry *entry = &file->entries[file->entry_count];
    size_t element_bytes = 0;
    if (!json_is_object(object))
      return REFUSE(&at, "%s: '%s' is not described by an object", path, shown);
    entry->name = name;
    MO_TRY(read_dtype(&at, object, &entry->dtype, &element_bytes));
    MO_TRY(read_shape(&at, object, entry));
    MO_TRY(read_offsets(&at, object, element_bytes, data, data_size, entry));
    file->entry_count++;
  }
  return check_cover(file, path, data, data_size, error);
}

static mousse_status read_length(const char *path, const unsigned char *data, size_t size,
                                 size_t *length, mo_error *error)
{
  uint64_t value = 0;
  if (size < LENGTH_BYTES)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: %zu bytes, too short for a safetensors file",
                   path, size);
  for (size_t i = LENGTH_BYTES; i-- > 0;) value = value << 8 | data[i];
  if (value < 2 || value > LARGEST_HEADER || value > size - LENGTH_BYTES)
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: a header of %llu bytes in a file of %zu, expected 2 to %d; not a "
                   "safetensors file, or cut off",
                   path, (unsigned long long)value, size, LARGEST_HEADER);
  *length = (size_t)value;
  return MOUSSE_OK;
}

static mousse_status parse(safetensors *file, const char *path, const unsigned char *data,
                           size_t size, mo_error *error)
{
  size_t length = 0;
  json_error_t reason;
  MO_TRY(read_length(path, data, size, &length, error));
  const char *text = (const char *)data + LENGTH_BYTES;
  if (*text != '{')
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: the header does not begin with {", path);
  MO_TRY(mo_json_bound(path, text, length, MOST_VALUES, error));
  json_t *header = json_loadb(text, length, JSON_REJECT_DUPLICATES, &reason);
  if (header == NULL)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: the header is not JSON: %s", path,
                   reason.text);
  file->header = header;
  const size_t start = LENGTH_BYTES + length;
  return read_entries(file, path, data + start, size - start, error);
}

mousse_status safetensors_parse(safetensors *file, const char *path, const unsigned char *data,
                                size_t size, const mo_allocator *allocator, mo_error *error)
{
  *file = (safetensors){.allocator = allocator};
  const mousse_status status = parse(file, path, data, size, error);
  if (status != MOUSSE_OK) safetensors_close(file);
  return status;
}

mousse_status safetensors_open(safetensors *file, const char *path,
                               const mo_allocator *allocator, mo_error *error)
{
  mo_map map;
  *file = (safetensors){0};
  MO_TRY(mo_map_open(&map, path, error));
  const mousse_status status =
      safetensors_parse(file, path, map.data, map.size, allocator, error);
  if (status != MOUSSE_OK)
    mo_map_close(&map);
  else
    file->map = map;
  return status;
}

void safetensors_close(safetensors *file)
{
  if (file->header != NULL) {
    mo_release(file->allocator, file->entries,
               json_object_size(file->header) * sizeof *file->entries);
    json_decref(file->header);
  }
  mo_map_close(&file->map);
  *file = (safetensors){0};
}

const safetensors_entry *safetensors_find(const safetensors *file, const char *name)
{
  const safetensors_entry wanted = {.name = name};
  if (file->entry_count == 0) return NULL;
  return bsearch(&wanted, file->entries, file->entry_count, sizeof *file->entries, by_name);
}

bool safetensors_has_floats(const safetensors_entry *entry)
{
  return strcmp(entry->dtype, "F32") == 0 || strcmp(entry->dtype, "BF16") == 0 ||
         strcmp(entry->dtype, "F16") == 0;
}

void safetensors_floats(const safetensors_entry *entry, float *values)
{
  if (strcmp(entry->dtype, "F32") == 0) {
    memcpy(values, entry->data, entry->bytes);
    return;
  }
  const bool brain = strcmp(entry->dtype, "BF16") == 0;
  for (size_t i = 0; i < entry->count; i++) {
    uint16_t half = 0;
    memcpy(&half, entry->data + 2 * i, sizeof half);
    values[i] = brain ? mo_from_bfloat16(half) : mo_from_float16(half);
  }
}
