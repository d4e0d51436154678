/* loader.h - batches of token sequences as a pure function of a step number.
 *
 * Windows. With T tokens in a sequence, shard k of n_k tokens holds w_k = floor((n_k - 1) / T)
 * windows; window j of a shard has the inputs j T .. j T + T - 1 and, one later, the targets
 * j T + 1 .. j T + T. Windows are numbered through all shards in order; there are M = sum w_k.
 * Evaluation walks windows 0, 1, 2, ... of the validation shards.
 *
 * Order. Sequence i of the global batch of G sequences of step s (from 0) has the number
 * q = s G + i, the epoch e = floor(q / M) and the place p = q mod M in it, and is
 *
 *     sequential:  window p
 *     shuffled:    window P(seed, e, p), P(seed, e, .) being a permutation of 0 .. M - 1
 *
 * Sources. When the set has several sources with weights, each has windows and epochs of its
 * own: q is dealt to source k, as its sequence q_k (dealing.h), which takes its window as above
 * with the seed seed + k 2^32.
 *
 * So a sequence depends on (seed, s, i) alone: not on ranks, micro-batches or what was read before.
 * Micro-batch m of B sequences takes i = m B .. m B + B - 1, in sequential order a block of
 * B T + 1 contiguous tokens while it stays in one shard. Which rank computes which micro-batch
 * is decided elsewhere (train/gradient.h). The whole position of a run is s.
 */
#ifndef MOUSSE_DATA_SHARDS_LOADER_H
#define MOUSSE_DATA_SHARDS_LOADER_H

#include "data/shards/dealing.h"
#include "data/shards/shard_set.h"

#define LOADER_NONE UINT32_MAX /* as a target: a token that is not to be learned (shard.h) */

typedef enum loader_order { LOADER_SEQUENTIAL, LOADER_SHUFFLED } loader_order;

typedef struct mo_loader {
  const shard_set *set; /* borrowed */
  uint64_t *first;      /* owned: first[k] is the first window of shard k; set->count + 1 */
  size_t length;        /* T */
  uint64_t windows;     /* M, of all sources */
  uint64_t distinct;    /* so many sequences from q = 0 on are all different */
  uint64_t batch;       /* G */
  uint64_t seed;
  loader_order order;
  mo_dealing dealing; /* owned; empty when there is one source */
  bool has_targets;   /* some shard says which tokens are to be learned */
  /* The token that documents start with, to be set by whoever wants them told apart;
   * LOADER_NONE: a window is one document. */
  uint32_t document_token;
} mo_loader;

/* Fails when the set, or a source of it, has no window of this length. */
mousse_status loader_open(mo_loader *loader, const shard_set *set, size_t length,
                          uint64_t batch, loader_order order, uint64_t seed, mo_error *error);
void loader_close(mo_loader *loader); /* accepts a zeroed or closed loader */

/* Which window sequence i of step s is. */
uint64_t loader_window(const mo_loader *loader, uint64_t step, uint64_t sequence);

/* Reads one window; inputs and targets hold T ids each; a target may be LOADER_NONE. */
mousse_status loader_read(const mo_loader *loader, uint64_t window, uint32_t *inputs,
                          uint32_t *targets, mo_error *error);

/* Reads sequences first .. first + count - 1 of a step, row after row: count x T ids each. */
mousse_status loader_fill(const mo_loader *loader, uint64_t step, uint64_t first, size_t count,
                          uint32_t *inputs, uint32_t *targets, mo_error *error);

/* Has the system fetch the same sequences from the disk, without waiting for it. */
void loader_read_ahead(const mo_loader *loader, uint64_t step, uint64_t first, size_t count);

/* How many targets of a step's batch are to be learned. */
mousse_status loader_targets(const mo_loader *loader, uint64_t step, uint64_t *count,
                             mo_error *error);

/* For each token of `count` windows where in its window its document starts. */
void loader_documents(const mo_loader *loader, const uint32_t *inputs, size_t count,
                      uint32_t *starts);

/* The permutation P above. */
uint64_t loader_permute(uint64_t seed, uint64_t epoch, uint64_t place, uint64_t count);

#endif
