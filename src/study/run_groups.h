/* run_groups.h - runs sorted into groups by their options.
 *
 *     group     runs that share all options that matter to the result but the seed (run_group.h)
 *     variant   groups that share all but the learning rate as well: a line of a sweep
 *
 * The label of a variant is its optimizer with as many options as tell it from other variants
 * of this optimizer ("mousse graft off"); that of a group has the learning rate too, where its
 * variant has several.
 */
#ifndef MOUSSE_STUDY_RUN_GROUPS_H
#define MOUSSE_STUDY_RUN_GROUPS_H

#include "study/run_group.h"

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

/* The options by which some of the runs have another model, other data or another length, so
 * that their losses do not compare: "preset, data_dir" and, where there is no room for all, how
 * many more. False: they all have the same. */
bool run_records_unlike(const run_records *records, char *names, size_t capacity);

#endif
