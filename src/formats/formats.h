/* formats.h - models as other programs write and read them.
 *
 *     Hugging Face  a folder: config.json, model.safetensors or an index of several, tokenizer
 *     llm.c         one file, GPT-2 only (llmc.h)
 *     GGUF          one file for llama.cpp (gguf.h), written only
 *
 * Nothing is allocated from a file's numbers before all of them are checked, and what is not
 * supported is refused by its name.
 */
#ifndef MOUSSE_FORMATS_FORMATS_H
#define MOUSSE_FORMATS_FORMATS_H

#include "data/tokenizer/tokenizer.h"
#include "formats/number_type.h"
#include "gpt/gpt.h"

/* Which of the published architectures a table of layers is. */
typedef enum model_family {
  FAMILY_NONE, /* none of them: the paper's own, or another combination */
  FAMILY_GPT2,
  FAMILY_LLAMA,
  FAMILY_MISTRAL, /* read as FAMILY_LLAMA; never the family of a table */
  FAMILY_QWEN2,
  FAMILY_QWEN3
} model_family;

model_family family_of(const gpt_config *config);

/* Where a model is: as train/model_files.h finds it. */
typedef struct model_place {
  const char *folder;  /* holds config.json */
  const char *weights; /* a safetensors file, an index of several, or a file of llm.c */
} model_place;

/* The table of the model, whichever of the formats it has. */
mousse_status format_read_config(const model_place *place, gpt_config *config, mo_error *error);
/* The size of its weights, in all files that hold them. */
mousse_status format_weights_bytes(const model_place *place, uint64_t *bytes, mo_error *error);
/* Its weights into params, which were made for this table; its sequence_len may be smaller than
 * the file's. A failed load leaves the values unchanged. */
mousse_status format_read_weights(const model_place *place, gpt_params *params,
                                  mo_error *error);

/* The tokens that end a text, by generation_config.json or config.json: at most `most`;
 * returns how many. */
size_t format_end_tokens(const char *folder, uint32_t *tokens, size_t most);

/* What is exported: tokenizer NULL when there is none. */
typedef struct model_export {
  const gpt_params *params;
  const mo_tokenizer *tokenizer;
  number_type type; /* of the numbers in the file */
  const char *name; /* for people */
} model_export;

/* Whether the type of numbers can hold all of the model's. */
mousse_status model_export_check(const model_export *model, mo_error *error);

/* A folder that transformers loads (or, for FAMILY_NONE, one with a PyTorch file). */
mousse_status hf_write(const model_export *model, const char *folder, mo_error *error);
/* Whether hf_write makes files of this name. */
bool hf_is_file(const char *name);

#endif
