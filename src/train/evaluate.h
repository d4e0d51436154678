/* evaluate.h - the mean loss over windows 0, 1, 2, ... of validation shards. */
#ifndef MOUSSE_TRAIN_EVALUATE_H
#define MOUSSE_TRAIN_EVALUATE_H

#include "data/shards/loader.h"
#include "gpt/gpt.h"

/* The bytes of text behind a batch's targets; exact below 2^24. byte_lengths NULL: 0. */
float batch_bytes(const gpt_batch *batch, const uint32_t *byte_lengths);

typedef struct evaluation {
  double loss;          /* mean nats per token */
  double bits_per_byte; /* of text behind the targets; NaN: not known */
  uint64_t tokens;      /* scored */
} evaluation;

/* How many windows it takes to score so many tokens; 0 tokens, or more than there are: all. */
uint64_t evaluation_windows(const mo_loader *loader, uint64_t tokens);

/* byte_lengths: how many bytes of text each id of the vocabulary stands for, or NULL.
 * Scores `windows` windows (0: all; more than there are: all), `batch` at a time, which the
 * pass must have room for. tick, when not NULL, is called after every batch. [collective] The
 * ranks take the batches in turn; the result is the same on all, and at any number of them.
 * comm NULL: one process. */
mousse_status evaluate(const mo_loader *loader, gpt_pass *pass, const mousse_comm *comm,
                       size_t batch, uint64_t windows, const uint32_t *byte_lengths,
                       void (*tick)(void *user, uint64_t done, uint64_t all), void *user,
                       evaluation *result, mo_error *error);

#endif
