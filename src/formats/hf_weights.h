/* hf_weights.h - weights of a Hugging Face folder: one safetensors file, or several that an
 * index lists:
 *
 *     {"metadata": {...}, "weight_map": {"name of a tensor": "name of a file", ...}}
 */
#ifndef MOUSSE_FORMATS_HF_WEIGHTS_H
#define MOUSSE_FORMATS_HF_WEIGHTS_H

#include "formats/formats.h"

mousse_status hf_load_weights(gpt_params *params, model_family family, const char *path,
                              mo_error *error);

/* The names of the files of an index, each once, by name; owned, closed with hf_index_close.
 * path is for messages. */
typedef struct hf_index {
  char **files;
  size_t count, capacity;
} hf_index;
mousse_status hf_index_parse(hf_index *index, const char *path, const char *text, size_t size,
                             mo_error *error);
mousse_status hf_index_open(hf_index *index, const char *path, mo_error *error);
bool hf_is_index(const char *path); /* by its name */
/* The path of file number `file` of the index that is at `path`. */
mousse_status hf_index_file(const hf_index *index, const char *path, size_t file, char *out,
                            size_t capacity, mo_error *error);
void hf_index_close(hf_index *index);

#endif
