/* weights.c - a model's weights as safetensors and its configuration as config.json.
 *
 * config.json is one object with vocab_size, n_layer, n_head, n_embd and sequence_len; other
 * keys are other programs' and ignored, except those that would make it another model.
 */
#include "gpt/gpt.h"
#include "gpt/safetensors.h"

#include <jansson.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  size_t offset;
} fields[] = {
    {"vocab_size", offsetof(gpt_config, vocab_size)},
    {"n_layer", offsetof(gpt_config, n_layer)},
    {"n_head", offsetof(gpt_config, n_head)},
    {"n_embd", offsetof(gpt_config, n_embd)},
    {"sequence_len", offsetof(gpt_config, sequence_len)},
};

enum { FIELD_COUNT = sizeof fields / sizeof *fields, LARGEST_CONFIG = 1 << 20 };

mousse_status gpt_save_config(const gpt_config *config, const char *path, mo_error *error)
{
  json_t *object = json_object();
  int failed = object == NULL;
  for (size_t i = 0; i < FIELD_COUNT && !failed; i++) {
    size_t value = 0;
    memcpy(&value, (const char *)config + fields[i].offset, sizeof value);
    failed = json_object_set_new(object, fields[i].name, json_integer((json_int_t)value)) != 0;
  }
  char *text = failed ? NULL : json_dumps(object, JSON_INDENT(2));
  json_decref(object);
  if (text == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory to write it", path);
  const mousse_status status = mo_file_write(path, text, strlen(text), error);
  free(text);
  return status;
}

static mousse_status read_fields(const json_t *object, gpt_config *config, const char *path,
                                 mo_error *error)
{
  if (!json_is_object(object))
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: expected an object {...}", path);
  for (size_t i = 0; i < FIELD_COUNT; i++) {
    const json_t *number = json_object_get(object, fields[i].name);
    if (!json_is_integer(number) || json_integer_value(number) < 1)
      return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: %s %s, expected a whole number from 1 on",
                     path, fields[i].name, number == NULL ? "is missing" : "is not one");
    const size_t value = (size_t)json_integer_value(number);
    memcpy((char *)config + fields[i].offset, &value, sizeof value);
  }
  const json_t *shared = json_object_get(object, "n_kv_head");
  if (shared != NULL && json_integer_value(shared) != (json_int_t)config->n_head)
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: n_kv_head differs from n_head; keys and values shared between heads "
                   "are not supported",
                   path);
  return MOUSSE_OK;
}

mousse_status gpt_load_config(gpt_config *config, const char *path, mo_error *error)
{
  char *text = NULL;
  size_t size = 0;
  json_error_t reason;
  gpt_config read = {0};
  MO_TRY(mo_file_read(NULL, path, LARGEST_CONFIG, &text, &size, error));
  json_t *object = json_loadb(text, size, JSON_REJECT_DUPLICATES, &reason);
  mo_release(NULL, text, size + 1);
  if (object == NULL)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: line %d: %s", path, reason.line, reason.text);
  const mousse_status status = read_fields(object, &read, path, error);
  json_decref(object);
  MO_TRY(status);
  mo_error cause = {{0}};
  if (gpt_config_check(&read, &cause) != MOUSSE_OK)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: %s", path, cause.text);
  *config = read;
  return MOUSSE_OK;
}

mousse_status gpt_save_weights(const gpt_params *params, const char *path, mo_error *error)
{
  const size_t count = params->tensor_count, bytes = count * sizeof(safetensors_matrix);
  safetensors_matrix *matrices = mo_allocate(params->arena.allocator, bytes);
  if (matrices == NULL)
    return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory to write it", path);
  for (size_t i = 0; i < count; i++) {
    const gpt_tensor *t = &params->tensors[i];
    matrices[i] = (safetensors_matrix){t->name, t->rows, t->cols, t->value};
  }
  const mousse_status status = safetensors_write(path, matrices, count, error);
  mo_release(params->arena.allocator, matrices, bytes);
  return status;
}

static float float_from_bits(uint32_t bits)
{
  float value = 0;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static float from_bfloat16(uint16_t half)
{
  return float_from_bits((uint32_t)half << 16);
}

/* IEEE half precision: moving exponent and fraction into place and multiplying by 2^112 sets
 * the bias right, subnormals included; the largest exponent means infinity or NaN. */
static float from_float16(uint16_t half)
{
  const uint32_t sign = (uint32_t)(half & 0x8000) << 16;
  const uint32_t rest = (uint32_t)(half & 0x7fff) << 13;
  if ((half & 0x7c00) == 0x7c00) return float_from_bits(sign | 0x7f800000u | rest);
  const float magnitude = float_from_bits(rest) * 0x1p112f;
  return sign != 0 ? -magnitude : magnitude;
}

static mousse_status check_entry(const safetensors_entry *entry, const gpt_tensor *tensor,
                                 const char *path, mo_error *error)
{
  if (entry == NULL)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: has no tensor '%s'", path, tensor->name);
  if (entry->rank != 2 || entry->shape[0] != tensor->rows || entry->shape[1] != tensor->cols)
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: '%s' has %zu dimensions (%zu x %zu), expected %zu x %zu", path,
                   tensor->name, entry->rank, entry->rank > 0 ? entry->shape[0] : 0,
                   entry->rank > 1 ? entry->shape[1] : 0, tensor->rows, tensor->cols);
  if (strcmp(entry->dtype, "F32") != 0 && strcmp(entry->dtype, "BF16") != 0 &&
      strcmp(entry->dtype, "F16") != 0)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: '%s' is %s, expected F32, BF16 or F16", path,
                   tensor->name, entry->dtype);
  return MOUSSE_OK;
}

static void copy_entry(const safetensors_entry *entry, float *value)
{
  if (strcmp(entry->dtype, "F32") == 0) {
    memcpy(value, entry->data, entry->bytes);
    return;
  }
  const int brain = strcmp(entry->dtype, "BF16") == 0;
  for (size_t i = 0; i < entry->count; i++) {
    uint16_t half = 0;
    memcpy(&half, entry->data + 2 * i, sizeof half);
    value[i] = brain ? from_bfloat16(half) : from_float16(half);
  }
}

static mousse_status load_entries(gpt_params *params, const safetensors *file, const char *path,
                                  mo_error *error)
{
  for (size_t i = 0; i < params->tensor_count; i++) {
    const gpt_tensor *tensor = &params->tensors[i];
    MO_TRY(check_entry(safetensors_find(file, tensor->name), tensor, path, error));
  }
  if (file->entry_count != params->tensor_count)
    return mo_fail(
        error, MOUSSE_BAD_FORMAT,
        "%s: holds %zu tensors, this model has %zu; is config.json of another model?", path,
        file->entry_count, params->tensor_count);
  for (size_t i = 0; i < params->tensor_count; i++) {
    const gpt_tensor *tensor = &params->tensors[i];
    copy_entry(safetensors_find(file, tensor->name), tensor->value);
  }
  return MOUSSE_OK;
}

mousse_status gpt_load_weights(gpt_params *params, const char *path, mo_error *error)
{
  safetensors file;
  MO_TRY(safetensors_open(&file, path, params->arena.allocator, error));
  const mousse_status status = load_entries(params, &file, path, error);
  safetensors_close(&file);
  return status;
}
