/* run_group.h - runs that are alike but for their seed, as one thing with a mean and a spread.
 * Reports (run_groups.h) and the paper's cells (paper/evidence.h) are made of these. */
#ifndef MOUSSE_STUDY_RUN_GROUP_H
#define MOUSSE_STUDY_RUN_GROUP_H

#include "study/run_mean.h"
#include "study/run_record.h"

enum { RUN_LABEL = 128 };

typedef struct run_group {
  const run_record **runs; /* owned; the records are borrowed */
  size_t count, capacity;
  size_t repeats;           /* complete runs of a seed that it had already: not among `runs` */
  const run_record *repeat; /* the first of them; borrowed */
  size_t variant;           /* see run_groups.h */
  uint32_t options;         /* the same for groups of the same variant */
  double lr;
  char label[RUN_LABEL];
  run_mean final_loss, final_bits; /* of complete runs */
  run_mean step_seconds;           /* of all */
  run_mean peak_bytes;
} run_group;

void run_group_start(run_group *group); /* empty: its means are NaN */
/* A seed counts once: a copy of a run would make the spread smaller than it is. */
mousse_status run_group_add(run_group *group, const run_record *record, mo_error *error);
void run_group_release(run_group *group);

/* Whether one of its runs ended far above where it began (run_record_blew_up). */
bool run_group_blew_up(const run_group *group);

/* The run that went furthest: the steps of the group are its steps. NULL: the group is empty. */
const run_record *run_group_longest(const run_group *group);

/* The validation number `index` of its longest run, over all runs that validated at that step.
 * False: it has no more of them. */
bool run_group_validation(const run_group *group, size_t index, uint64_t *step, run_mean *loss);

/* The first step, interpolated between validations, at which the mean validation loss is at
 * most `target`; NaN when it never is. The mean is that of complete runs where there are any:
 * one that stopped on the way would make it jump. */
double run_group_steps_to(const run_group *group, double target);

/* The mean of `group` minus `reference` over the seeds that are complete in both: what differs
 * between seeds is the same on both sides and cancels. */
run_mean run_group_paired(const run_group *group, const run_group *reference);

/* (group - reference) / (other - base), each paired as above, over the seeds that are complete in
 * all four. */
run_ratio run_group_ratio(const run_group *group, const run_group *reference,
                          const run_group *other, const run_group *base);

#endif
