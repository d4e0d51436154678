/* run_model.h - which model a run trains: the one place that answers it.
 *
 *     sizes        preset   config.json of --init or of the checkpoint   model_dim, n_layer, ...
 *     vocabulary   preset   the data's tokenizer   config.json           vocab_size
 *
 * What stands further right wins where it is given. With weights given, only the sequence length may
 * differ from theirs: any other size is refused.
 */
#ifndef MOUSSE_TRAIN_RUN_MODEL_H
#define MOUSSE_TRAIN_RUN_MODEL_H

#include "train/options.h"

/* From options alone. base: config.json's model, or NULL; data_vocabulary: 0 when not known. */
mousse_status run_model_from(const train_options *run, const gpt_config *base,
                             size_t data_vocabulary, gpt_config *config, mo_error *error);

/* The run's model, from all that it names. checkpoint: the folder that it continues from, or
 * NULL. */
mousse_status run_model_find(const train_options *run, const char *checkpoint,
                             const run_notices *notices, gpt_config *config, mo_error *error);

/* The same for a run whose data need not be there yet; options are checked first. One that would
 * continue is looked up by its directory. */
mousse_status run_model_expect(const train_options *run, const run_notices *notices,
                               gpt_config *config, mo_error *error);

/* Refuses a checkpoint that holds another model. */
mousse_status run_model_compare(const char *checkpoint, const gpt_config *wanted,
                                mo_error *error);

#endif
