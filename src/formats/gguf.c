/* gguf.c - writes a GGUF file: header, keys, list of tensors, data. */
#include "formats/gguf.h"

#include "base/file.h"
#include "formats/gguf_parts.h"

#include <string.h>

enum { VERSION = 3, ALIGNMENT = 32 };
enum { KIND_SIZE = 4, KIND_SWITCH = 7, KIND_ARRAY = 9 };

void gguf_put(gguf_keys *keys, const void *data, size_t size)
{
  if (!keys->no_memory && !mo_buffer_add(&keys->bytes, data, size)) keys->no_memory = true;
}

static void put_u32(gguf_keys *keys, uint32_t value)
{
  gguf_put(keys, &value, sizeof value);
}

static void put_u64(gguf_keys *keys, uint64_t value)
{
  gguf_put(keys, &value, sizeof value);
}

void gguf_put_text(gguf_keys *keys, const char *text, size_t length)
{
  put_u64(keys, length);
  gguf_put(keys, text, length);
}

static void start_key(gguf_keys *keys, const char *key, uint32_t kind)
{
  gguf_put_text(keys, key, strlen(key));
  put_u32(keys, kind);
  keys->count++;
}

void gguf_add_text(gguf_keys *keys, const char *key, const char *text)
{
  start_key(keys, key, GGUF_TEXT);
  gguf_put_text(keys, text, strlen(text));
}

void gguf_add_size(gguf_keys *keys, const char *key, size_t value)
{
  start_key(keys, key, KIND_SIZE);
  put_u32(keys, (uint32_t)value);
}

void gguf_add_number(gguf_keys *keys, const char *key, double value)
{
  const float number = (float)value;
  start_key(keys, key, GGUF_NUMBER);
  gguf_put(keys, &number, sizeof number);
}

void gguf_add_switch(gguf_keys *keys, const char *key, bool value)
{
  const unsigned char byte = value;
  start_key(keys, key, KIND_SWITCH);
  gguf_put(keys, &byte, sizeof byte);
}

void gguf_add_array(gguf_keys *keys, const char *key, gguf_kind kind, size_t count)
{
  start_key(keys, key, KIND_ARRAY);
  put_u32(keys, kind);
  put_u64(keys, count);
}

static size_t row_count(const gguf_tensor *t)
{
  return t->rows > 0 ? t->rows : 1;
}

static uint64_t aligned(uint64_t bytes)
{
  return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static uint64_t tensor_bytes(const gguf_tensor *t)
{
  return row_count(t) * number_bytes(t->type, t->cols);
}

/* Their numbers for our types. */
static uint32_t type_number(number_type type)
{
  static const uint32_t numbers[] = {
      [NUMBER_F32] = 0, [NUMBER_F16] = 1, [NUMBER_BF16] = 30, [NUMBER_Q8_0] = 8};
  return numbers[type];
}

/* The whole head of the file, up to the data. */
static void make_head(gguf_keys *head, const gguf_keys *keys, const gguf_plan *plan)
{
  uint64_t offset = 0;
  gguf_put(head, "GGUF", 4);
  put_u32(head, VERSION);
  put_u64(head, plan->count);
  put_u64(head, keys->count);
  gguf_put(head, keys->bytes.data, keys->bytes.size);
  for (size_t i = 0; i < plan->count; i++) {
    const gguf_tensor *t = &plan->tensors[i];
    gguf_put_text(head, t->name, strlen(t->name));
    put_u32(head, t->rows > 0 ? 2 : 1);
    put_u64(head, t->cols);
    if (t->rows > 0) put_u64(head, t->rows);
    put_u32(head, type_number(t->type));
    put_u64(head, offset);
    offset += aligned(tensor_bytes(t));
  }
  static const char zeros[ALIGNMENT];
  gguf_put(head, zeros, aligned(head->bytes.size) - head->bytes.size);
}

/* Our row that is theirs. */
static size_t source_row(const gguf_tensor *t, size_t row)
{
  const size_t D = t->head_size, half = D / 2;
  if (t->order == GGUF_AS_IS) return row;
  const size_t head = row / D * D, at = row % D;
  if (t->order == GGUF_SWAPPED) return head + (at + half) % D;
  return head + at % 2 * half + at / 2;
}

/* A vector's numbers are its rows here, each of one. */
static void fill_row(const gguf_tensor *t, size_t row, float *values)
{
  const bool vector = t->rows == 0;
  const size_t from = vector ? 0 : source_row(t, row) * t->cols;
  for (size_t i = 0; i < t->cols; i++) {
    const size_t at = vector ? source_row(t, i) : from + i;
    values[i] = t->source == NULL ? 1.0f : t->source[at] * t->factor;
  }
}

static mousse_status write_tensor(mo_writer *writer, const gguf_tensor *t, float *values,
                                  unsigned char *bytes, mo_error *error)
{
  static const char zeros[ALIGNMENT];
  for (size_t row = 0; row < row_count(t); row++) {
    fill_row(t, row, values);
    MO_TRY(number_check(t->type, t->name, values, t->cols, error));
    number_encode(t->type, values, t->cols, bytes);
    MO_TRY(mo_writer_write(writer, bytes, number_bytes(t->type, t->cols), error));
  }
  return mo_writer_write(writer, zeros, aligned(tensor_bytes(t)) - tensor_bytes(t), error);
}

static mousse_status write_data(mo_writer *writer, const gguf_plan *plan, mo_error *error)
{
  size_t widest = 1;
  mousse_status status = MOUSSE_OK;
  for (size_t i = 0; i < plan->count; i++)
    if (plan->tensors[i].cols > widest) widest = plan->tensors[i].cols;
  float *values = mo_allocate(NULL, 2 * widest * sizeof *values);
  if (values == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for a row of weights");
  for (size_t i = 0; i < plan->count && status == MOUSSE_OK; i++)
    status = write_tensor(writer, &plan->tensors[i], values, (unsigned char *)(values + widest),
                          error);
  mo_release(NULL, values, 2 * widest * sizeof *values);
  return status;
}

static mousse_status write_file(const gguf_plan *plan, const gguf_keys *head, const char *path,
                                mo_error *error)
{
  mo_writer writer;
  MO_TRY(mo_writer_open(&writer, path, error));
  mousse_status status = mo_writer_write(&writer, head->bytes.data, head->bytes.size, error);
  if (status == MOUSSE_OK) status = write_data(&writer, plan, error);
  if (status == MOUSSE_OK) return mo_writer_commit(&writer, error);
  mo_writer_abandon(&writer);
  return status;
}

mousse_status gguf_write(const model_export *model, const char *path, mo_error *error)
{
  gguf_plan plan;
  gguf_keys keys = {0}, head = {0};
  MO_TRY(gguf_plan_open(&plan, model, error));
  gguf_add_model(&keys, &plan);
  mousse_status status =
      gguf_add_tokenizer(&keys, model->tokenizer, model->params->config.vocab_size, error);
  make_head(&head, &keys, &plan);
  if (status == MOUSSE_OK && (keys.no_memory || head.no_memory))
    status = mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory for its keys", path);
  if (status == MOUSSE_OK) status = write_file(&plan, &head, path, error);
  mo_buffer_close(&keys.bytes);
  mo_buffer_close(&head.bytes);
  gguf_plan_close(&plan);
  return status;
}
