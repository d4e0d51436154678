/* series.h - many rows of numbers in little memory: rows are gathered in buckets that keep the
 * lowest, the highest and the mean of every column, so that no peak is lost.
 *
 * All buckets but the last hold `width` rows. When there are SERIES_MOST of them, neighbours are
 * joined and the width doubles: a million rows are never more than SERIES_MOST buckets, and what
 * they are depends on the rows alone, not on when they came.
 */
#ifndef MOUSSE_WATCH_SERIES_H
#define MOUSSE_WATCH_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SERIES_MOST = 1200 };

typedef struct series_cell {
  double low, high, sum;
  uint64_t count; /* of finite values; 0: none, and the rest means nothing */
} series_cell;

typedef struct series_place {
  uint64_t first, last;   /* steps */
  double tokens, seconds; /* after the last of them */
  uint64_t rows;
} series_place;

typedef struct watch_series {
  size_t columns, count;
  uint64_t width;       /* rows of a full bucket */
  uint64_t layout;      /* another one when buckets are joined or forgotten: see series.c */
  series_place *places; /* owned; SERIES_MOST of them, NULL before the first row */
  series_cell *cells;   /* owned; columns for each */
} watch_series;

void series_start(watch_series *series, size_t columns);
/* False: no memory. A value that is not finite counts as missing. */
bool series_add(watch_series *series, const series_place *place, const double *values);
void series_clear(watch_series *series); /* no rows again */
void series_release(watch_series *series);

const series_cell *series_at(const watch_series *series, size_t bucket, size_t column);
double series_mean(const series_cell *cell); /* NaN: it has no value */

#endif
