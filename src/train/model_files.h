/* model_files.h - where the weights are that a user names:
 *
 *     FILE.safetensors        with config.json beside it
 *     FILE.bin                a checkpoint of llm.c
 *     DIRECTORY               that holds model.safetensors or the index of several: a checkpoint,
 *                             an export, a model of Hugging Face
 *     RUN                     its newest checkpoint that is in order
 *     RUN@STEP, RUN@best      the checkpoint of that step, or with the lowest validation loss
 *
 * A checkpoint that holds an average of the weights (--ema) stands for that; its
 * model.safetensors, named as a file, for the last weights themselves. */
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
/* Whether the newest checkpoint of a run has a tokenizer, without which a model writes nothing. A look that reads
 * no weights. */
bool model_files_can_write(const char *run);
mousse_status model_files_config(const model_files *files, gpt_config *config, mo_error *error);
/* Reads the weights; adapters that the files have are merged into them, those of params stay. */
mousse_status model_files_weights(const model_files *files, gpt_params *params,
                                  mo_error *error);
/* Makes the parameters, without gradients or adapters, and reads the weights. */
mousse_status model_files_load(const model_files *files, gpt_params **params, mo_error *error);

#endif
