/* weights.c - a model's weights as safetensors, under our own names. */
#include "gpt/gpt.h"
#include "gpt/safetensors.h"

#include <string.h>

mousse_status gpt_save_values(const gpt_params *params, const float *values, const char *path,
                              mo_error *error)
{
  const size_t count = params->tensor_count, bytes = count * sizeof(safetensors_matrix);
  safetensors_matrix *matrices = mo_allocate(params->arena.allocator, bytes);
  if (matrices == NULL)
    return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory to write it", path);
  for (size_t i = 0; i < count; i++) {
    const gpt_tensor *t = &params->tensors[i];
    const size_t rows = t->role == GPT_VECTOR ? 0 : t->rows;
    matrices[i] =
        (safetensors_matrix){t->name, rows, t->cols, values + (t->value - params->values)};
  }
  const mousse_status status = safetensors_write(path, matrices, count, error);
  mo_release(params->arena.allocator, matrices, bytes);
  return status;
}

mousse_status gpt_save_weights(const gpt_params *params, const char *path, mo_error *error)
{
  return gpt_save_values(params, params->values, path, error);
}

/* A vector has one dimension, everything else two. */
static bool has_shape(const safetensors_entry *entry, const gpt_tensor *tensor)
{
  if (tensor->role == GPT_VECTOR) return entry->rank == 1 && entry->shape[0] == tensor->cols;
  return entry->rank == 2 && entry->shape[0] == tensor->rows && entry->shape[1] == tensor->cols;
}

static mousse_status check_entry(const safetensors_entry *entry, const gpt_tensor *tensor,
                                 const char *path, mo_error *error)
{
  if (entry == NULL)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: has no tensor '%s'", path, tensor->name);
  if (!has_shape(entry, tensor))
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: '%s' has %zu dimensions (%zu x %zu), expected %zu x %zu", path,
                   tensor->name, entry->rank, entry->rank > 0 ? entry->shape[0] : 0,
                   entry->rank > 1 ? entry->shape[1] : 0, tensor->rows, tensor->cols);
  if (!safetensors_has_floats(entry))
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: '%s' is %s, expected F32, BF16 or F16", path,
                   tensor->name, entry->dtype);
  return MOUSSE_OK;
}

/* The first `count` tensors of the model, all that the file has. */
static mousse_status load_entries(gpt_params *params, size_t count, const safetensors *file,
                                  const char *path, mo_error *error)
{
  for (size_t i = 0; i < count; i++) {
    const gpt_tensor *tensor = &params->tensors[i];
    MO_TRY(check_entry(safetensors_find(file, tensor->name), tensor, path, error));
  }
  if (file->entry_count != count)
    return mo_fail(
        error, MOUSSE_BAD_FORMAT,
        "%s: holds %zu tensors, this model has %zu; is config.json of another model?", path,
        file->entry_count, count);
  for (size_t i = 0; i < count; i++) {
    const gpt_tensor *tensor = &params->tensors[i];
    safetensors_floats(safetensors_find(file, tensor->name), tensor->value);
  }
  return MOUSSE_OK;
}

static mousse_status load(gpt_params *params, size_t count, const char *path, mo_error *error)
{
  safetensors file;
  MO_TRY(safetensors_open(&file, path, params->arena.allocator, error));
  const mousse_status status = load_entries(params, count, &file, path, error);
  safetensors_close(&file);
  return status;
}

mousse_status gpt_load_weights(gpt_params *params, const char *path, mo_error *error)
{
  return load(params, params->tensor_count, path, error);
}

mousse_status gpt_load_base(gpt_params *params, const char *path, mo_error *error)
{
  return load(params, params->base_count, path, error);
}
