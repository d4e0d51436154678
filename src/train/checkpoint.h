/* checkpoint.h - checkpoints that are complete or absent.
 *
 *     RUN/checkpoints/step-0000000100/   model.safetensors  config.json  tokenizer.json
 *                                        ema.safetensors  previous.safetensors  optimizer.bin
 *                                        trainer.json  manifest.json
 *
 * tokenizer.json, ema.safetensors and previous.safetensors are there when the run has a
 * tokenizer, an average of its weights, and an optimizer that asks for gradients at those before.
 *
 * A checkpoint is made in a directory under a temporary name: files synced, manifest last, then
 * renamed, then its parent synced. One that is removed is renamed first as well, so what is
 * called step-N was complete once. The order is that of the steps, never of times. Names that
 * are not ours are never touched.
 */
#ifndef MOUSSE_TRAIN_CHECKPOINT_H
#define MOUSSE_TRAIN_CHECKPOINT_H

#include "data/tokenizer/tokenizer.h"
#include "train/average.h"
#include "train/trainer_state.h"

#include <time.h>

#define CHECKPOINT_FOLDER "checkpoints"
#define OPTIMIZER_FILE    "optimizer.bin"

/* All that makes a run continue exactly, borrowed. */
typedef struct checkpoint_content {
  const gpt_params *params;
  mousse_optimizer *optimizer;
  const mo_tokenizer *tokenizer; /* NULL: none is kept */
  weight_average *average;       /* values NULL: none is kept */
  weight_average *previous;      /* the weights before the last step; likewise */
  const train_options *options;  /* resolved */
  const mousse_comm *comm;
  uint64_t data_checksum;
  const trainer_state *state;
} checkpoint_content;

/* The numbers of a checkpoint: the run's own, or a copy of them. */
typedef struct checkpoint_numbers {
  const float *weights;
  const float *average, *previous; /* NULL: not kept */
  const void *optimizer;           /* all of optimizer.bin */
  size_t optimizer_bytes;
} checkpoint_numbers;

/* root is the folder of checkpoints. A failed save leaves what was there before. [collective],
 * as is loading: rank 0 alone reads and writes, and all have its outcome. A checkpoint does not
 * show how many ranks made it. */
mousse_status checkpoint_save(const char *root, const checkpoint_content *content,
                              mo_error *error);
/* The same files from a copy, in a thread of its own if need be: nobody else is asked, and of the
 * content's members only those that stay as they are in a run are used, and the state. */
mousse_status checkpoint_write(const char *root, const checkpoint_content *content,
                               const checkpoint_numbers *numbers, mo_error *error);
/* Reads the state of a verified checkpoint and compares it with what the run asks for now,
 * before anything large is made: another model or optimizer is refused, other differences are
 * counted and said. */
mousse_status checkpoint_compare(const char *root, uint64_t step, const trainer_demand *demand,
                                 const gpt_config *config, trainer_state *state,
                                 option_changes *changes, const run_notices *notices,
                                 mo_error *error);
/* The weights (content's own, to be written), their copies and the optimizer's state; the weights
 * only when all are in order. A copy that the checkpoint lacks starts at the weights. */
mousse_status checkpoint_load(const char *root, uint64_t step,
                              const checkpoint_content *content, gpt_params *params,
                              mo_error *error);
mousse_status checkpoint_verify(const char *root, uint64_t step, mo_error *error);

/* The newest checkpoint that is in order; what is wrong with newer ones is said. *found is
 * false when there is none; all of several being damaged is an error, and so is one that is out of
 * reach: without the right to read it, or without memory, nobody knows that it is damaged. */
mousse_status checkpoint_newest(const char *root, const run_notices *notices, uint64_t *step,
                                bool *found, mo_error *error);

/* Which checkpoints stay: the last so many, those at multiples of `every` (0: none), the one with
 * the lowest validation loss, and the one of step `intact` (0: none). */
typedef struct checkpoint_rule {
  uint64_t last, every;
  bool best;
  uint64_t intact;
} checkpoint_rule;

/* Removes all up to `newest` that no rule keeps, and what was left under temporary names.
 * Failures are said and harmless. */
void checkpoint_prune(const char *root, uint64_t newest, const checkpoint_rule *rule,
                      const run_notices *notices);

/* When the disk has less room than a checkpoint takes, what would go after the save goes before
 * it. The save may fail, so the one of step `intact`, which is known to be in order, stays: newer
 * ones may be damaged. */
void checkpoint_make_room(const char *root, uint64_t bytes, uint64_t newest, uint64_t intact,
                          const checkpoint_rule *rule, const run_notices *notices);

/* checkpoint_folder.c: the names in the folder. */
typedef struct checkpoint_list {
  uint64_t *steps; /* owned, rising */
  size_t count, capacity;
} checkpoint_list;

mousse_status checkpoint_list_open(checkpoint_list *list, const char *root, mo_error *error);
void checkpoint_list_close(checkpoint_list *list);
/* Fails for a directory without a checkpoint that can be used: as a run of which none was ever
 * saved, or else with the reason given. */
mousse_status checkpoint_missing(const char *run, const char *reason, mo_error *error);

/* What can be told about one without reading its weights. */
typedef struct checkpoint_info {
  uint64_t step, bytes;
  time_t time; /* when it was made */
  trainer_state state;
} checkpoint_info;
mousse_status checkpoint_look_up(const char *root, uint64_t step, checkpoint_info *info,
                                 mo_error *error);
/* The loss of the validation at the checkpoint's own step; NaN: there was none. */
double checkpoint_loss(const checkpoint_info *info);
/* The place in the list of the checkpoint with the lowest such loss, the earliest of equals; false:
 * none has one. Only what tells the loss is looked at: its weights may be damaged. */
bool checkpoint_lowest(const char *root, const checkpoint_list *list, size_t *place);
/* The one with the lowest loss that is in order; what is wrong with better ones is said. */
mousse_status checkpoint_best(const char *root, const run_notices *notices, uint64_t *step,
                              bool *found, mo_error *error);

typedef enum checkpoint_place {
  CHECKPOINT_FINAL,
  CHECKPOINT_MAKING,
  CHECKPOINT_LEAVING
} checkpoint_place;
mousse_status checkpoint_path(char *path, size_t capacity, const char *root, uint64_t step,
                              checkpoint_place place, mo_error *error);
/* Removes a checkpoint in any place; one that holds a file that is not ours stays whole. */
mousse_status checkpoint_remove(const char *root, uint64_t step, checkpoint_place place,
                                mo_error *error);
/* Removes what was left half made or half removed. */
void checkpoint_clean(const char *root, const run_notices *notices);
/* The files of a checkpoint except the manifest, NULL past the last. */
const char *checkpoint_file(size_t index);
bool checkpoint_needs(const char *name); /* the others may be missing */

#endif
