/* model_files.h - where the weights are that a user names: a safetensors file (with config.json
 * beside it), a checkpoint of llm.c, a directory that holds model.safetensors or the index of
 * several (ours or Hugging Face's), or a run, which stands for its newest checkpoint that is in
 * order. */
#ifndef MOUSSE_TRAIN_MODEL_FILES_H
#define MOUSSE_TRAIN_MODEL_FILES_H

#include "train/options.h"

typedef struct model_files {
  char folder[4096];  /* that holds config.json and perhaps a tokenizer */
  char weights[4096]; /* the safetensors file, its index, or llm.c's file */
  char run[4096];     /* the run directory; "" when a run was not named */
} model_files;

mousse_status model_files_find(model_files *files, const char *path, const run_notices *notices,
                               mo_error *error);
mousse_status model_files_config(const model_files *files, gpt_config *config, mo_error *error);
mousse_status model_files_weights(const model_files *files, gpt_params *params,
                                  mo_error *error);
/* Makes the parameters, without gradients, and reads the weights. */
mousse_status model_files_load(const model_files *files, gpt_params **params, mo_error *error);

#endif
