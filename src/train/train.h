/* train.h - a training run from its options to its last checkpoint.
 *
 *     batch -> loss -> gradient -> update, and now and then validation, sample, checkpoint
 *
 * The run directory (docs/training.md): config.yaml, history.jsonl, metrics.jsonl, events.jsonl,
 * log.txt, checkpoints/, lock.
 */
#ifndef MOUSSE_TRAIN_TRAIN_H
#define MOUSSE_TRAIN_TRAIN_H

#include "train/metrics.h"
#include "train/trainer_state.h"

/* What is told about the run before its first step. */
typedef struct train_start {
  const char *directory;
  const train_options *run;
  gpt_config config;
  uint64_t step; /* 0, or where it continues */
  uint64_t tokens_per_step;
  uint64_t windows; /* sequences of training data: an epoch */
  uint64_t parameters;
  size_t optimizer_bytes; /* on the rank that holds most */
  int ranks, threads;     /* threads of each rank */
} train_start;

/* Who watches. Any function may be NULL; none influences the run. */
typedef struct train_display {
  run_notices notices;
  /* Returns the operations per second of matrix products where it measured them, or 0. */
  double (*started)(void *user, const train_start *start);
  void (*step)(void *user, const step_report *report);
  void (*validated)(void *user, const validation_report *report);
  void (*sampled)(void *user, uint64_t step, const char *text, size_t length);
  void *user;
} train_display;

typedef struct train_outcome {
  char directory[4096];
  trainer_state state;
  bool complete; /* all steps are taken, */
  bool early;    /* or patience has ended it: nothing is left to do */
  bool idle;     /* no step was taken: it was so already */
  int signal;    /* that ended it before; 0: none */
  uint64_t best; /* after an early end: the step of its best checkpoint; 0: there is none */
} train_outcome;

/* [collective] Every rank computes its part of each batch; rank 0 alone writes files, and all
 * fail or succeed together. The options are those of all ranks (ranks_take_options). MOUSSE_COMM:
 * the other ranks may not know of the failure. */
mousse_status train_execute(const train_options *run, const mousse_comm *comm,
                            const train_display *display, train_outcome *outcome,
                            mo_error *error);

#endif
