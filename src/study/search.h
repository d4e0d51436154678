/* search.h - a search by steps along coordinates, with a fixed number of trials: the same care
 * for everybody.
 *
 * A point has a whole number per dimension: half steps from where the search starts. A step is a
 * factor of 2, a half step one of sqrt(2). The first trial is the start. From the best point so
 * far the next trials are, in this order and as far as they are new: a step up and down every
 * dimension, the corners between those, half a step up and down, the corners of these, two steps
 * up and down. So much for the dimensions that are searched together, until their budget is used
 * up. The others follow alone, one after the other: a step up and down from the best point, which
 * is the better of the three from then on. The search ends with its budget, never before.
 *
 * Which points come next depends on nothing but the trials: a search that was stopped goes on.
 */
#ifndef MOUSSE_STUDY_SEARCH_H
#define MOUSSE_STUDY_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

enum { SEARCH_DIMENSIONS = 8, SEARCH_MOST = 32 };

typedef struct search_point {
  int at[SEARCH_DIMENSIONS];
} search_point;

typedef struct search_trial {
  search_point point;
  double loss; /* infinite: diverged, or stopped as hopeless */
  size_t run;  /* the caller's number for it */
} search_trial;

typedef struct search {
  size_t together, budget; /* the first dimensions, and the trials for them */
  size_t alone;            /* the dimensions after those: two trials each */
  search_trial trials[SEARCH_MOST];
  size_t count;
} search;

/* The points to try next, at most `most` of them; 0: the budget is used up. */
size_t search_next(const search *s, search_point *points, size_t most);
void search_add(search *s, search_point point, double loss, size_t run);
size_t search_left(const search *s); /* trials until its budget is used up */

/* The trial with the lowest finite loss, the earliest of equals; NULL: there is none. */
const search_trial *search_best(const search *s);
/* The same of the dimensions that are searched together, before the others came. */
const search_trial *search_best_together(const search *s);

/* Whether that point has, in a dimension, tried points below and above it that differ in nothing
 * else: then it is no edge of what was tried. */
bool search_inside(const search *s, size_t dimension);

#endif
