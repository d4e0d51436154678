/* curves.h - the losses of a group of runs over its steps, as series of a chart: the mean over
 * the seeds, with their standard deviation as the spread. */
#ifndef MOUSSE_STUDY_CURVES_H
#define MOUSSE_STUDY_CURVES_H

#include "report/results.h"
#include "study/run_group.h"

/* What else a curve can be drawn along: tokens, and seconds (steps times the median step). To
 * be called once or more for a chart with curves. */
void curve_views(json_t *chart);

enum { CURVE_POINTS = 300 }; /* of one curve: enough for any screen */

/* The validations, at the steps of the group's longest run and at no more than about `most` of them.
 * from: the step at which the curve begins. */
void curve_validation(json_t *series, const run_group *group, double from, size_t most);

/* The training losses at no more than `most` steps, each the mean over the 2% of the run around
 * it: single batches are noisy. */
void curve_training(json_t *series, const run_group *group, double from, size_t most);

double curve_last_step(const run_group *group);

typedef void curve_maker(json_t *series, const run_group *group, double from, size_t most);

#endif
