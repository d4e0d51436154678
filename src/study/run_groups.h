/* run_groups.h - runs that are the same but for their seed, as one thing with a mean and a
 * spread.
 *
 *     group     runs that share all options that matter to the result but the seed
 *     variant   groups that share all but the learning rate as well: a line of a sweep
 *
 * The label of a variant is its optimizer with as many options as tell it from other variants
 * of this optimizer ("mousse graft off"); that of a group has the learning rate too, where its
 * variant has several.
 */
#ifndef MOUSSE_STUDY_RUN_GROUPS_H
#define MOUSSE_STUDY_RUN_GROUPS_H

#include "study/run_record.h"

enum { RUN_LABEL = 128 };

typedef struct run_mean {
  double mean, spread; /* spread: the standard deviation; NaN for fewer than two */
  size_t count;        /* of values; 0: mean is NaN */
} run_mean;

typedef struct run_group {
  const run_record **runs; /* owned; the records are borrowed */
  size_t count, capacity;
  size_t variant;
  double lr;
  char label[RUN_LABEL];
  run_mean final_loss;   /* of complete runs */
  run_mean step_seconds; /* of all */
  run_mean peak_bytes;
} run_group;

typedef struct run_variant {
  char label[RUN_LABEL];
  size_t best; /* its group with the lowest mean final loss; SIZE_MAX: none is complete */
} run_variant;

typedef struct run_groups {
  run_group *list; /* owned; by optimizer, variant and learning rate */
  size_t count, capacity;
  run_variant *variants; /* owned */
  size_t variant_count, variant_capacity;
} run_groups;

/* The records are borrowed until release. */
mousse_status run_groups_make(run_groups *groups, const run_records *records, mo_error *error);
void run_groups_release(run_groups *groups);

/* The first option by which some of the runs have another model, other data or another length,
 * so that their losses do not compare; NULL: they all have the same. */
const char *run_records_unlike(const run_records *records);

/* Of the finite ones among the values. */
run_mean run_mean_of(const double *values, size_t count);

#endif
