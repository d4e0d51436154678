/* run_mean.h - the statistics of a study: mean, spread and what a difference is worth. */
#ifndef MOUSSE_STUDY_RUN_MEAN_H
#define MOUSSE_STUDY_RUN_MEAN_H

#include <stddef.h>

typedef struct run_mean {
  double mean, spread; /* spread: the standard deviation; NaN for fewer than two */
  size_t count;        /* of values; 0: mean is NaN */
  double squares;      /* of the differences to the mean, summed */
} run_mean;

/* Of no values yet; then of one more, unless it is not finite. */
run_mean run_mean_of_none(void);
void run_mean_add(run_mean *mean, double value);

/* Half of the 95% interval of the mean by Student's t; infinite for one value, NaN for none. */
double run_mean_margin(run_mean mean);

/* What a paired difference (run_group_paired) says: clearly "worse" (above 0) or "better" when 0
 * is outside of its 95% interval; at least three pairs are asked for. */
const char *run_mean_verdict(run_mean difference);

/* The ratio of two means over the same pairs, with its 95% interval by Fieller's method: the errors
 * of both count, and what they have in common. NaN: no pairs. A lower mean that is not clearly
 * away from 0 leaves the interval without ends, which are then infinite. */
typedef struct run_ratio {
  double value, low, high;
} run_ratio;
run_ratio run_ratio_of(const double *upper, const double *lower, size_t count);

/* "4.1961 ± 0.0032 (3)" as a cell of a table: mean, spread, number of runs. */
void run_mean_text(run_mean mean, char text[64]);

/* For qsort: -1, 0 or 1; what is not a number comes last. */
int number_order(double a, double b);

#endif
