/* trainer_state.h - what a run is at besides weights and optimizer: trainer.json of a
 * checkpoint.
 *
 *     {"format": "mousse-trainer", "version": 1, "step": 100, "tokens": 819200, "skipped": 0,
 *      "skipped_in_row": 0, "data": "0123456789abcdef", "options": {"lr": "0.02", ...}}
 *
 * The step is the whole position: batches, schedule and random numbers are functions of it. The
 * options are those that determine the result; on resume they are compared with the new ones.
 */
#ifndef MOUSSE_TRAIN_TRAINER_STATE_H
#define MOUSSE_TRAIN_TRAINER_STATE_H

#include "train/options.h"

typedef struct trainer_state {
  uint64_t step;    /* steps taken */
  uint64_t tokens;  /* seen */
  uint64_t skipped; /* steps whose gradient was not finite */
  uint64_t skipped_in_row;
} trainer_state;

mousse_status trainer_state_write(const trainer_state *state, const train_options *run,
                                  uint64_t data_fingerprint, const char *path, mo_error *error);

/* Reads and compares: an option that makes the checkpoint unusable is refused, other
 * differences are said. */
mousse_status trainer_state_read(trainer_state *state, const train_options *run,
                                 uint64_t data_fingerprint, const char *path,
                                 const run_notices *notices, mo_error *error);

#endif
