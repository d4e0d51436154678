/* gguf_parts.h - the parts of a GGUF file while it is made: keys, then tensors. */
#ifndef MOUSSE_FORMATS_GGUF_PARTS_H
#define MOUSSE_FORMATS_GGUF_PARTS_H

#include "base/buffer.h"
#include "formats/gguf.h"

/* Keys with their values, in the file's form. no_memory stays true once it is. */
typedef struct gguf_keys {
  mo_buffer bytes;
  uint64_t count;
  bool no_memory;
} gguf_keys;

void gguf_put(gguf_keys *keys, const void *data, size_t size); /* raw bytes */
void gguf_put_text(gguf_keys *keys, const char *text, size_t length);
void gguf_add_text(gguf_keys *keys, const char *key, const char *text);
void gguf_add_size(gguf_keys *keys, const char *key, size_t value);   /* uint32 */
void gguf_add_number(gguf_keys *keys, const char *key, double value); /* float32 */
void gguf_add_switch(gguf_keys *keys, const char *key, bool value);
/* The start of an array; its elements follow with gguf_put and gguf_put_text. */
typedef enum gguf_kind { GGUF_INTEGER = 5, GGUF_NUMBER = 6, GGUF_TEXT = 8 } gguf_kind;
void gguf_add_array(gguf_keys *keys, const char *key, gguf_kind kind, size_t count);

/* gguf_tokenizer.c: the tokenizer's keys, for a vocabulary that may be larger than its own. */
mousse_status gguf_add_tokenizer(gguf_keys *keys, const mo_tokenizer *tokenizer,
                                 size_t vocabulary, mo_error *error);

/* One tensor of the file: rows of `source` in some order, times a factor. */
typedef enum gguf_order {
  GGUF_AS_IS,
  GGUF_PAIRS,  /* of heads: from [first halves, second halves] to pairs, as llama wants them */
  GGUF_SWAPPED /* of heads: the halves change places, which turns the rotation around */
} gguf_order;

typedef struct gguf_tensor {
  char name[64];
  const float *source; /* NULL: all ones */
  size_t rows, cols;   /* rows 0: a vector */
  size_t head_size;
  gguf_order order;
  float factor;
  number_type type;
} gguf_tensor;

/* gguf_model.c: the architecture's keys and tensors. */
enum { GGUF_LAYER_TENSORS = 20 };
typedef struct gguf_plan {
  const model_export *model;
  const char *architecture;
  gguf_tensor *tensors; /* owned; room for all */
  size_t count, capacity;
  float *frequencies; /* owned: factors of the angles; NULL without */
} gguf_plan;

mousse_status gguf_plan_open(gguf_plan *plan, const model_export *model, mo_error *error);
void gguf_plan_close(gguf_plan *plan);
void gguf_add_model(gguf_keys *keys, const gguf_plan *plan);

#endif
