/* scales.h - how large an edition of the evidence is: regimes, budgets, seeds.
 *
 * A regime is a model size with a batch and a length of its own; results are told per regime. The
 * first is the one in which every contender is tuned and the switches of Mousse are tried. All of
 * this is docs/evidence-protocol.md as tables.
 */
#ifndef MOUSSE_PAPER_SCALES_H
#define MOUSSE_PAPER_SCALES_H

#include "study/details.h"

enum {
  STUDY_MOST_REGIMES = 6,
  PAPER_DETAILS = STUDY_DETAILS + 1 /* and what is tuned again at the end (tuning.c) */
};

typedef struct study_regime {
  const char *name; /* "64x3, 8k": WIDTHxLAYERS, tokens of a batch */
  int width, layers, heads;
  int batch_size; /* sequences */
  int steps;
  int rates; /* learning rates that its searches try; 0: as many as the scale says */
} study_regime;

typedef struct study_scale {
  const char *name, *help;
  study_regime regimes[STUDY_MOST_REGIMES];
  int regime_count;
  int vocabulary, sequence_length;
  int val_tokens, validations; /* of a validation; how many of them in a run */
  int search_runs;             /* trials of learning rate and momentum, in the first regime */
  int details;       /* then so many of the further options (protocol.h), two trials each */
  int length_runs;   /* trials of both at another length of the run */
  int rates;         /* learning rates around that, tried in every other regime */
  int variant_rates; /* the same of Mousse with a switch turned */
  int fine_rates;    /* learning rates of fine-tuning (fine_tuning.h) */
  int seeds;         /* of the verdict; none of them chose anything */
} study_scale;

const study_scale *study_scale_find(const char *name); /* NULL: no such name */
extern const char *const study_scale_names[];          /* ending in NULL */

/* Weights of the regime's model: embedding, head and hidden matrices. */
double study_regime_weights(const study_scale *scale, const study_regime *regime);

#endif
