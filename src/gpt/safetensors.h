/* safetensors.h - the safetensors format: named arrays in one file.
 *
 *     8 bytes   little-endian length of the header, at most 100,000,000
 *     header    JSON: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...,
 *               "__metadata__": {"key": "text"}}, possibly padded with spaces
 *     data      the arrays; offsets count from its start and cover it without holes or overlaps
 *
 * A file is either all right or refused: every rule above is checked on opening.
 */
#ifndef MOUSSE_GPT_SAFETENSORS_H
#define MOUSSE_GPT_SAFETENSORS_H

#include "base/error.h"
#include "base/file.h"

#include <stdbool.h>

enum { SAFETENSORS_MAX_RANK = 8 };

typedef struct safetensors_entry {
  const char *name;  /* owned by the file object */
  const char *dtype; /* "F32", ...: one of the format's names */
  size_t rank, shape[SAFETENSORS_MAX_RANK];
  size_t count;              /* elements */
  const unsigned char *data; /* inside the file, of any alignment */
  size_t bytes;
} safetensors_entry;

typedef struct safetensors {
  mo_map map;
  safetensors_entry *entries; /* owned; by name */
  size_t entry_count;
  void *header; /* owned: the parsed header, which holds the names */
  const mo_allocator *allocator;
} safetensors;

mousse_status safetensors_open(safetensors *file, const char *path,
                               const mo_allocator *allocator, mo_error *error);
/* The same on bytes in memory, borrowed until close; path is for messages. */
mousse_status safetensors_parse(safetensors *file, const char *path, const unsigned char *data,
                                size_t size, const mo_allocator *allocator, mo_error *error);
void safetensors_close(safetensors *file); /* accepts a zeroed or closed one */
const safetensors_entry *safetensors_find(const safetensors *file, const char *name);

/* Whether it is F32, BF16 or F16, and its numbers as floats. */
bool safetensors_has_floats(const safetensors_entry *entry);
void safetensors_floats(const safetensors_entry *entry, float *values);

/* A float32 matrix or vector to be written. */
typedef struct safetensors_matrix {
  const char *name;
  size_t rows, cols;  /* rows 0: a vector */
  const float *value; /* borrowed */
} safetensors_matrix;

mousse_status safetensors_write(const char *path, const safetensors_matrix *matrices,
                                size_t count, mo_error *error);

/* The same with numbers of another type: `value` is not looked at, but get called for each
 * matrix in turn, whose bytes it returns until the next call; NULL: no memory. note is the text
 * of "format" in the metadata; NULL: none. */
typedef struct safetensors_numbers {
  const char *dtype, *note;
  size_t bytes; /* of a number */
  const void *(*get)(void *user, size_t matrix);
  void *user;
} safetensors_numbers;
mousse_status safetensors_write_as(const char *path, const safetensors_matrix *matrices,
                                   size_t count, const safetensors_numbers *numbers,
                                   mo_error *error);

#endif
