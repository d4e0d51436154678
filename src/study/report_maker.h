/* report_maker.h - what the figures of a report on runs share (report_runs.c, report_summary.c).
 */
#ifndef MOUSSE_STUDY_REPORT_MAKER_H
#define MOUSSE_STUDY_REPORT_MAKER_H

#include "report/results.h"
#include "study/run_groups.h"

typedef struct report_maker {
  const run_records *records;
  run_groups groups;
  double target; /* the loss to which steps and seconds are counted */
  json_t *results;
} report_maker;

/* The group of a variant with the lowest mean final loss; NULL: none has one. */
const run_group *report_best(const report_maker *maker, size_t variant);
void report_name_runs(json_t *figure, const run_group *group);

/* report_summary.c: the table of the best learning rates, and who is ahead. */
void report_summary(const report_maker *maker);

#endif
