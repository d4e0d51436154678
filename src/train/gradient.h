/* gradient.h - one step's gradient: the mean over all micro-batches of the global batch.
 *
 * The batch is cut into S slices of equally many micro-batches. Within a slice, gradients are
 * accumulated one after the other; the slices' gradients are added in a binary tree:
 * neighbours, then neighbouring pairs, and so on, an odd one moving up unchanged. R ranks take
 * S/R successive slices each, add theirs in that tree, and mousse_comm.sum adds the ranks' in
 * the tree above: when S/R is a power of two it is one and the same tree, and the gradient has
 * the same bits at any such R. S = 1 is plain accumulation, without further memory; otherwise
 * the tree takes log2(S/R) arrays, rounded up.
 *
 *     for each of this rank's micro-batches   gradient_batch   gradient_add
 *     then for all ranks together             gradient_sum     gradient_measure   gradient_clip
 *
 * The mean is over all targets of the batch: where not all tokens are to be learned (shard.h), a
 * micro-batch has the share of its targets in them.
 *
 * The sum over ranks may overlap with the backward pass of the last micro-batch, layer by
 * layer. A sum is taken element by element, so its bits do not depend on how it is cut.
 */
#ifndef MOUSSE_TRAIN_GRADIENT_H
#define MOUSSE_TRAIN_GRADIENT_H

#include "comm/background.h"
#include "data/shards/loader.h"
#include "gpt/gpt.h"

enum { GRADIENT_LEVELS = 17 }; /* of the tree: 2^16 slices */

typedef struct train_gradient {
  const mo_loader *loader; /* borrowed, as are params, pass and comm */
  gpt_params *params;
  gpt_pass *pass;
  const mousse_comm *comm;
  size_t micro_batch, micro_count; /* of the whole batch */
  size_t slices;
  double clip; /* largest norm; 0: any */
  int threads;
  bool overlap;      /* sum while the backward pass goes on, where there are several ranks */
  size_t first, end; /* this rank's micro-batches: first .. end - 1 */
  mo_background background;
  uint32_t *tokens, *targets;      /* owned: one micro-batch */
  uint32_t *starts;                /* owned: of its documents; NULL: they are not told apart */
  uint64_t counted;                /* targets of the step's whole batch */
  double *squares;                 /* owned: partial sums of the norm */
  const uint32_t *byte_lengths;    /* borrowed: bytes of text of every id, or NULL */
  float *losses, *bytes;           /* owned: loss and bytes of text of every micro-batch */
  float *partial[GRADIENT_LEVELS]; /* owned: sums of 2^level slices that wait for the next */
} train_gradient;

typedef struct gradient_result {
  double loss, norm;    /* the norm is that before clipping */
  double bits_per_byte; /* NaN: not known */
  bool finite;          /* of loss and norm; when false nothing should be done with them */
} gradient_result;

/* Whether this many ranks can share this many slices so that the tree stays the same. */
bool gradient_divides(size_t slices, size_t ranks);
/* Bytes that a rank takes for the tree. */
size_t gradient_tree_bytes(size_t slices, size_t ranks, size_t parameters);

/* Takes all members from loader to overlap, and byte_lengths, from *gradient, which must not move until it is closed. */
mousse_status gradient_open(train_gradient *gradient, mo_error *error);
void gradient_close(train_gradient *gradient); /* accepts a zeroed or closed one */

/* Reads micro-batch `micro` of the batch of this step (from 0); *batch lasts until the next. */
mousse_status gradient_batch(train_gradient *gradient, uint64_t step, size_t micro,
                             gpt_batch *batch, mo_error *error);
/* Forward and backward; micro-batches come in order, from first to end - 1. */
mousse_status gradient_add(train_gradient *gradient, size_t micro, const gpt_batch *batch,
                           mo_error *error);
/* [collective] The sum over ranks. own: how this rank fared so far; all succeed or fail. */
mousse_status gradient_sum(train_gradient *gradient, mousse_status own, mo_error *error);
gradient_result gradient_measure(train_gradient *gradient);
/* Returns what it was multiplied by; 1: it was short enough. */
double gradient_clip(train_gradient *gradient, const gradient_result *result);

#endif
