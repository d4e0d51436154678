/* llmc.h - checkpoints of llm.c: GPT-2 in one file.
 *
 *     256 whole numbers of 32 bits: 20240326, version (3: float32, 5: bfloat16), context,
 *         vocabulary, layers, heads, width, padded vocabulary; the others 0
 *     wte (padded vocabulary x C), wpe (context x C), then each of a layer's tensors for all
 *         layers: ln_1 gain, bias, qkv weight (3C x C), bias, c_proj weight, bias, ln_2 gain,
 *         bias, fc weight (4C x C), bias, proj weight (C x 4C), bias; then ln_f gain, bias
 *
 * All little-endian. Rows of the vocabulary's padding are written as 0 and not read.
 */
#ifndef MOUSSE_FORMATS_LLMC_H
#define MOUSSE_FORMATS_LLMC_H

#include "base/file.h"
#include "formats/formats.h"

/* Whether the file begins as one of llm.c's. */
bool llmc_is_checkpoint(const char *path);
mousse_status llmc_read_config(const char *path, gpt_config *config, mo_error *error);
mousse_status llmc_read_weights(const char *path, gpt_params *params, mo_error *error);
/* Bytes in memory instead of a file: the header checked against the size. */
mousse_status llmc_parse_header(const char *path, const unsigned char *data, size_t size,
                                gpt_config *config, mo_error *error);
/* type: F32 or BF16; a model that is not GPT-2 is refused. */
mousse_status llmc_write(const model_export *model, const char *path, mo_error *error);

#endif
