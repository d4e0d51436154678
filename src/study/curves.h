/* curves.h - the losses of a group of runs over its steps, as series of a chart: the mean over
 * the seeds, with their standard deviation as the spread. */
#ifndef MOUSSE_STUDY_CURVES_H
#define MOUSSE_STUDY_CURVES_H

#include "report/results.h"
#include "study/run_groups.h"

/* The validations, at the steps of the group's first run. from: the part of the run, 0 to 1,
 * after which the curve begins. */
mousse_status curve_validation(json_t *series, const run_group *group, double from,
                               mo_error *error);

/* The training losses at no more than 300 steps, each the mean over the 2% of the run around
 * it: single batches are noisy. */
mousse_status curve_training(json_t *series, const run_group *group, double from,
                             mo_error *error);

#endif
