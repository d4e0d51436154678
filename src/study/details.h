/* details.h - what is tuned after learning rate and momentum, one option at a time: the learning
 * rates of embedding and head, the weight decay, the memory of the statistics, and that of the
 * optimizer of embedding and head.
 *
 * A detail has a whole number, as a dimension of a search (search.h): half steps from where it
 * starts: for the rates of embedding and head what the run has, else the optimizer's default. A
 * step is a factor of 2, of the weight decay 4 (from 0.01 where the default is 0); of a memory
 * 1 - beta is multiplied.
 */
#ifndef MOUSSE_STUDY_DETAILS_H
#define MOUSSE_STUDY_DETAILS_H

#include "base/error.h"
#include "train/options.h"

enum { STUDY_DETAILS = 5 };

extern const char *const study_detail_names[STUDY_DETAILS]; /* in tables and names of runs */

/* Sets those that are not 0, in a run of a model of that width. memory: the option, as
 * "opt.beta". */
mousse_status details_set(train_options *run, size_t width, const int at[STUDY_DETAILS],
                          const char *memory, mo_error *error);

/* What a search chooses. */
typedef struct study_setting {
  double lr, momentum; /* momentum NaN: the optimizer has none */
  int details[STUDY_DETAILS];
} study_setting;

/* ",embed=2,decay=0.5": what details_set sets, as factors of the default; "" when nothing. */
void details_text(const int at[STUDY_DETAILS], char *text, size_t capacity);

#endif
