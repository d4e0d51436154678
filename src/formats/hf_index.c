/* hf_index.c - model.safetensors.index.json: which files hold a model's tensors. */
#include "formats/hf_weights.h"

#include "base/file.h"
#include "base/json_text.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 1000, LONGEST_NAME = 255, MOST_VALUES = 1 << 21, LARGEST_INDEX = 64 << 20 };

/* A plain name: an index must not reach out of its folder. */
static bool is_plain(const char *name)
{
  const size_t length = strlen(name);
  return length > 0 && length <= LONGEST_NAME && name[0] != '.' && strchr(name, '/') == NULL;
}

static mousse_status add_file(hf_index *index, const char *path, const char *name,
                              mo_error *error)
{
  for (size_t i = 0; i < index->count; i++)
    if (strcmp(index->files[i], name) == 0) return MOUSSE_OK;
  if (index->count == MOST_FILES)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: names more than %d files", path, MOST_FILES);
  char *copy = mo_allocate(NULL, strlen(name) + 1);
  if (copy == NULL ||
      !mo_grow(NULL, &index->files, &index->capacity, index->count + 1, sizeof *index->files)) {
    if (copy != NULL) mo_release(NULL, copy, strlen(name) + 1);
    return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory for a list of files", path);
  }
  memcpy(copy, name, strlen(name) + 1);
  index->files[index->count++] = copy;
  return MOUSSE_OK;
}

static mousse_status read_map(hf_index *index, const char *path, json_t *map, mo_error *error)
{
  const char *tensor = NULL;
  json_t *value = NULL;
  if (!json_is_object(map) || json_object_size(map) == 0)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: weight_map is not an object that names files",
                   path);
  json_object_foreach(map, tensor, value)
  {
    const char *name = json_string_value(value);
    if (name == NULL || !is_plain(name))
      return mo_fail(error, MOUSSE_BAD_FORMAT,
                     "%s: weight_map gives '%.60s' to '%.80s', expected the name of a file in "
                     "the same folder",
                     path, tensor, name != NULL ? name : "(not text)");
    MO_TRY(add_file(index, path, name, error));
  }
  return MOUSSE_OK;
}

mousse_status hf_index_parse(hf_index *index, const char *path, const char *text, size_t size,
                             mo_error *error)
{
  json_t *object = NULL;
  *index = (hf_index){0};
  MO_TRY(mo_json_parse(&object, path, text, size, MOST_VALUES, JSON_REJECT_DUPLICATES, error));
  const mousse_status status =
      read_map(index, path, json_object_get(object, "weight_map"), error);
  json_decref(object);
  if (status != MOUSSE_OK) hf_index_close(index);
  return status;
}

mousse_status hf_index_open(hf_index *index, const char *path, mo_error *error)
{
  char *text = NULL;
  size_t size = 0;
  MO_TRY(mo_file_read(NULL, path, LARGEST_INDEX, &text, &size, error));
  const mousse_status status = hf_index_parse(index, path, text, size, error);
  mo_release(NULL, text, size + 1);
  return status;
}

bool hf_is_index(const char *path)
{
  const size_t length = strlen(path);
  return length >= 5 && strcmp(path + length - 5, ".json") == 0;
}

mousse_status hf_index_file(const hf_index *index, const char *path, size_t file, char *out,
                            size_t capacity, mo_error *error)
{
  char folder[4096];
  MO_TRY(mo_path_parent(folder, sizeof folder, path, error));
  return mo_path_join(out, capacity, folder, index->files[file], error);
}

void hf_index_close(hf_index *index)
{
  for (size_t i = 0; i < index->count; i++)
    mo_release(NULL, index->files[i], strlen(index->files[i]) + 1);
  mo_release(NULL, index->files, index->capacity * sizeof *index->files);
  *index = (hf_index){0};
}
