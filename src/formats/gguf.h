/* gguf.h - models for llama.cpp: one GGUF file with weights, table and tokenizer.
 *
 *     "GGUF", version 3, numbers of tensors and of keys; the keys with types and values; the
 *     tensors' names, shapes (fastest dimension first), types and offsets; padding; the data,
 *     each tensor at a multiple of 32 bytes
 *
 * Architectures: gpt2, llama, qwen2, qwen3. The paper's model is written as a qwen3, which
 * computes the same (gguf_model.c says how).
 */
#ifndef MOUSSE_FORMATS_GGUF_H
#define MOUSSE_FORMATS_GGUF_H

#include "formats/formats.h"

mousse_status gguf_write(const model_export *model, const char *path, mo_error *error);

#endif
