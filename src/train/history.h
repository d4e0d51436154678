/* history.h - which options, program and data made which steps of a run: history.jsonl.
 *
 *     {"step": 0, "time": "2026-01-31T12:00:00Z", "version": "0.2.0", "commit": "1a2b3c4",
 *      "command": ["mousse", "train", ...],
 *      "machine": {"host", "system", "processor", "blas", "ranks", "threads"},
 *      "data": {"directory", "train": checksum, "val": checksum, "tokenizer": checksum},
 *      "options": {"lr": "0.02", ...}}
 *
 * One line for every stretch of steps: what it tells holds from the step after "step" on, up to
 * the next line's. All options are resolved (resolve.h), as text. A start that continues with
 * nothing changed adds no line; lines of steps that a crash has undone are dropped. Options
 * changed at step N when two neighbouring lines differ in them and the later one has step N.
 */
#ifndef MOUSSE_TRAIN_HISTORY_H
#define MOUSSE_TRAIN_HISTORY_H

#include "data/shards/loader.h"
#include "train/options.h"

#define HISTORY_NAME "history.jsonl"

typedef struct history_entry {
  uint64_t step; /* steps taken before */
  const train_options *resolved;
  uint64_t train_checksum, val_checksum, tokenizer_checksum; /* 0: there is none */
  const mo_loader *val;                                      /* what validations read */
  int ranks, threads;
} history_entry;

/* Brings directory/history.jsonl to where the run goes on. Losses of validations that score other
 * text than before are told not to be comparable. */
mousse_status history_write(const char *directory, const history_entry *entry,
                            const run_notices *notices, mo_error *error);

/* How many bytes of a history are whole lines from before `step`. path: what messages call it. */
mousse_status history_measure(const char *path, const char *text, size_t size, uint64_t step,
                              size_t *kept, mo_error *error);

/* The lines of another run up to `step`, for a branch. The options that determine the result become
 * those of the last of them, if there is one. */
mousse_status history_copy(const char *from, const char *to, uint64_t step,
                           train_options *options, mo_error *error);

#endif
