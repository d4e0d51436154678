/* fine_tuning.h - the paper's open question: is Mousse good for models that AdamW pretrained?
 *
 * The models that AdamW and Mousse pretrained in the first regime go on, each with AdamW, Muon and
 * Mousse, on other text, for a quarter of the steps:
 *
 *     search   the learning rate, as the protocol searches, from a quarter of the one that the
 *              optimizer found at home; its momentum is the one of home. It starts from the run
 *              of the search's seed.
 *     verdict  the best learning rate from the models of three seeds that chose nothing
 *
 * Told is the loss on the other text and, of the checkpoints on the way, on the old one.
 */
#ifndef MOUSSE_PAPER_FINE_TUNING_H
#define MOUSSE_PAPER_FINE_TUNING_H

#include "paper/evidence.h"

enum {
  FINE_ORIGINS = 2,
  FINE_TUNERS = 3,
  FINE_CELLS = FINE_ORIGINS * FINE_TUNERS,
  FINE_SEEDS = 3,
  FINE_PARTS = 4, /* of the steps: after each the old text is looked at */
  FINE_STEPS = 4  /* pretraining has so many times the steps */
};

/* What a model says of the old text after some steps. */
typedef struct fine_loss {
  uint64_t step;
  run_mean loss; /* over the seeds */
} fine_loss;

typedef struct fine_tuning {
  const study_protocol *home; /* borrowed: tuned, and with the seeds of its verdict */
  study_protocol protocol;    /* a cell for each origin and tuner, as far as they have runs */
  const study_cell *origins[FINE_CELLS];
  study_evidence evidence; /* of these cells */
  const char *old_data;    /* borrowed */
  size_t old_count[FINE_CELLS];
  fine_loss old[FINE_CELLS][SEARCH_MOST]; /* the first is that before fine-tuning */
  run_mean forgotten[FINE_CELLS];         /* the last minus the first, seed by seed */
} fine_tuning;

/* The cells, once the runs of the protocol have ended; other_data: shards of the other text. */
mousse_status fine_tuning_plan(fine_tuning *fine, const study_protocol *home,
                               const study_runs *runs, const char *old_data,
                               const char *other_data, mo_error *error);
/* The runs of the verdict, after protocol_tune has found the learning rates. */
mousse_status fine_tuning_add_seeds(fine_tuning *fine, study_runs *runs, mo_error *error);
/* Reads the runs, and has their checkpoints say what they know of the old text. */
mousse_status fine_tuning_read(fine_tuning *fine, const study_runs *runs, mo_error *error);
void fine_tuning_release(fine_tuning *fine); /* accepts a zeroed one */

/* old_text.c: the loss of a model, named as --init names it, on the data's validation tokens. */
mousse_status old_text_loss(const char *model, const char *data_dir, uint64_t tokens,
                            double *loss, mo_error *error);

#endif
