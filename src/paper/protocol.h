/* protocol.h - what is compared, at which size, and how each contender is tuned.
 *
 * A cell is one contender under one schedule at one model size: an optimizer, or Mousse with a
 * switch turned. Every cell gets the same treatment: one run per peak learning rate of its grid
 * with the first seed, then the best learning rate again with the other seeds. The result of a
 * cell is the mean and the deviation of those. All see the same tokens in the same order.
 */
#ifndef MOUSSE_PAPER_PROTOCOL_H
#define MOUSSE_PAPER_PROTOCOL_H

#include "paper/figures.h"
#include "study/runs.h"

enum { STUDY_SIZES = 4, STUDY_MOST_RATES = 8, STUDY_MOST_SEEDS = 8 };

typedef struct study_size {
  const char *name; /* WIDTHxLAYERS */
  int width, layers, heads;
} study_size;

typedef struct study_scale {
  const char *name, *help;
  study_size sizes[STUDY_SIZES]; /* from small to large */
  int ablation_size;             /* which of them the switches are tried at */
  int vocabulary, sequence_length, batch_size, steps;
  int val_tokens, validations; /* of a validation; how many of them in a run */
  int rates, seeds;
  int variant_rates; /* of Mousse with a switch turned: the middle of the same */
} study_scale;

const study_scale *study_scale_find(const char *name); /* NULL: no such name */
extern const char *const study_scale_names[];          /* ending in NULL */

typedef enum study_schedule { STUDY_COSINE, STUDY_WSD } study_schedule;

typedef struct study_cell {
  char name[96];         /* "cosine,64x3,mousse": the first part of its runs' names */
  const char *optimizer; /* "mousse" */
  const char *label;     /* in charts: the optimizer, or the switch that is turned */
  bool contender;        /* compared under every schedule and size, not only one switch */
  unsigned figures;      /* bits of enum figure_id that need it */
  int size;
  study_schedule schedule;
  train_options run; /* without learning rate and seed */
  double rates[STUDY_MOST_RATES];
  size_t rate_count, seed_count;
  size_t grid[STUDY_MOST_RATES];  /* runs of the first seed, by learning rate */
  size_t seeds[STUDY_MOST_SEEDS]; /* runs of the best learning rate, by seed */
  size_t best;                    /* of the rates; rate_count: all diverged */
} study_cell;

typedef struct study_protocol {
  const study_scale *scale;
  study_cell *cells; /* owned */
  size_t count, capacity;
} study_protocol;

/* The cells that the figures (bits) need. */
mousse_status protocol_plan(study_protocol *protocol, const study_scale *scale,
                            unsigned figures, const char *data_dir, mo_error *error);
void protocol_release(study_protocol *protocol);

/* The first stage's runs of a cell; then, once they have ended, the second's. */
mousse_status cell_add_grid(study_cell *cell, study_runs *runs, mo_error *error);
mousse_status cell_add_seeds(study_cell *cell, study_runs *runs, mo_error *error);

/* NULL: there is none. */
const study_cell *protocol_find(const study_protocol *protocol, study_schedule schedule,
                                int size, const char *label);

#endif
