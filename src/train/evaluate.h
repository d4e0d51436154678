/* evaluate.h - the mean loss over windows 0, 1, 2, ... of validation shards. */
#ifndef MOUSSE_TRAIN_EVALUATE_H
#define MOUSSE_TRAIN_EVALUATE_H

#include "data/shards/loader.h"
#include "gpt/gpt.h"

typedef struct evaluation {
  double loss;     /* mean nats per token */
  uint64_t tokens; /* scored */
} evaluation;

/* Scores `windows` windows (0: all; more than there are: all), `batch` at a time, which the
 * pass must have room for. tick, when not NULL, is called after every batch. [collective] The
 * ranks take the batches in turn; the result is the same on all, and at any number of them. */
mousse_status evaluate(const mo_loader *loader, gpt_pass *pass, const mousse_comm *comm,
                       size_t batch, uint64_t windows,
                       void (*tick)(void *user, uint64_t done, uint64_t all), void *user,
                       evaluation *result, mo_error *error);

#endif
