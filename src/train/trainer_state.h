/* trainer_state.h - what a run is at besides weights and optimizer: trainer.json of a
 * checkpoint.
 *
 *     {"format": "mousse-trainer", "version": 2, "step": 100, "tokens": 819200, "skipped": 0,
 *      "skipped_in_row": 0, "loss": 3.2, "validation": {"step": 100, "loss": 3.3},
 *      "best": {"step": 100, "loss": 3.3}, "without_best": 0, "data": "0123456789abcdef",
 *      "options": {"lr": "0.02", ...}}
 *
 * The step is the whole position: batches, schedule and random numbers are functions of it. The
 * options are those that determine the result, resolved; on resume they are compared with the
 * new ones. Version 1, of 0.1, has neither losses nor resolved options.
 */
#ifndef MOUSSE_TRAIN_TRAINER_STATE_H
#define MOUSSE_TRAIN_TRAINER_STATE_H

#include "train/options.h"

/* A validation; loss NaN: there was none. */
typedef struct validation_result {
  uint64_t step;
  double loss;
} validation_result;

typedef struct trainer_state {
  uint64_t step;    /* steps taken */
  uint64_t tokens;  /* seen */
  uint64_t skipped; /* steps whose gradient was not finite */
  uint64_t skipped_in_row;
  uint64_t without_best;              /* validations since the best one */
  double loss;                        /* of the last step; NaN: none */
  validation_result validation, best; /* the newest, and the one with the lowest loss */
} trainer_state;

trainer_state trainer_state_start(void);
/* Takes note of a validation at the state's step. */
void trainer_state_validated(trainer_state *state, double loss);

mousse_status trainer_state_write(const trainer_state *state, const train_options *resolved,
                                  uint64_t data_checksum, const char *path, mo_error *error);

/* Of the checkpoint of `step`, which must be the file's own. */
mousse_status trainer_state_read(trainer_state *state, uint64_t step, const char *path,
                                 mo_error *error);
/* The same from text in memory; path is what messages call it. */
mousse_status trainer_state_parse(trainer_state *state, const char *path, const char *text,
                                  size_t size, mo_error *error);

/* What a run is asked for now, to be compared with a checkpoint. */
typedef struct trainer_demand {
  const train_options *given, *resolved;
  uint64_t data_checksum, data_fingerprint; /* the fingerprint is what version 1 knows */
} trainer_demand;

typedef struct option_changes {
  size_t count;
  char first[320]; /* the first of them, in words */
} option_changes;

/* Refuses another optimizer than the checkpoint's: all its other options depend on it. scalar_opt:
 * the checkpoint's own, which is what 'auto' stands for from now on. */
mousse_status trainer_state_same_optimizer(const char *path, const train_options *given,
                                           char scalar_opt[OPTION_TEXT_SIZE], mo_error *error);

/* An option that makes the checkpoint unusable is refused; other differences are counted, and
 * said. */
mousse_status trainer_state_compare(const char *path, const trainer_demand *demand,
                                    option_changes *changes, const run_notices *notices,
                                    mo_error *error);

#endif
