/* background_save.h - a checkpoint written by a thread of its own, from a copy, while the run
 * goes on.
 *
 *     open -> (take -> start -> is_finished* -> wait)* -> close
 *
 * take copies weights, their averages and the optimizer's state, which rank 0 collects from all;
 * the thread then does what a save in place does, in the same order, and talks to nobody: not to
 * other ranks, not to the display. What it has to say is kept for wait. From start to wait the
 * copy belongs to the thread; tensors' names, tokenizer and options are read by both sides and
 * written by none.
 */
#ifndef MOUSSE_TRAIN_BACKGROUND_SAVE_H
#define MOUSSE_TRAIN_BACKGROUND_SAVE_H

#include "train/checkpoint.h"

#include <pthread.h>
#include <stdatomic.h>

/* What is to be done about a save, besides writing it. */
typedef struct save_request {
  const char *root;     /* borrowed: the folder of checkpoints */
  checkpoint_rule rule; /* which others stay */
  bool keep_all;        /* afterwards: all of them do */
  uint64_t bytes;       /* of a checkpoint, about: room is made for it */
  uint64_t intact; /* the step of a checkpoint that stays until this one is there; 0: none */
  int metrics;     /* owned: a descriptor to be synced first; -1: none */
} save_request;

typedef struct background_save {
  bool on; /* the same on all ranks; what follows is rank 0's */
  int threads;
  mo_arena memory;
  float *weights, *average, *previous; /* in the arena; NULL: not kept */
  unsigned char *optimizer;            /* in the arena, with room for `capacity` bytes */
  size_t optimizer_bytes, capacity;
  trainer_state state;
  checkpoint_content content; /* with the state above */

  save_request request;
  bool running;  /* from start to wait */
  bool threaded; /* in a thread */
  pthread_t thread;
  atomic_bool finished;
  mousse_status status;
  mo_error error;
  int sync_error;     /* errno of the metrics; 0: none */
  char notices[4096]; /* lines */
} background_save;

/* Bytes of a copy: `arrays` like the weights, and the optimizer's state. */
size_t background_save_bytes(const mousse_optimizer *optimizer, const gpt_params *outline,
                             size_t arrays, size_t state_bytes);

/* Rank 0: takes the memory; it stays off when there is none. Must not move until it is closed. */
void background_save_open(background_save *save, const checkpoint_content *content,
                          size_t state_bytes, int threads);
void background_save_close(background_save *save); /* waits; accepts a zeroed or closed one */

/* [collective] Copies the run as it is now. MOUSSE_IO, on all ranks: the copy has no room. */
mousse_status background_save_take(background_save *save, const checkpoint_content *content,
                                   mo_error *error);

/* Rank 0: writes the copy, at once when there is no thread to be had. */
void background_save_start(background_save *save, const save_request *request);
bool background_save_is_finished(background_save *save); /* there is one, and wait is at once */
/* The outcome, with what the thread had to say. Without one under way: OK. */
mousse_status background_save_wait(background_save *save, const run_notices *notices,
                                   mo_error *error);

#endif
