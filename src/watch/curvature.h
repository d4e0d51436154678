/* curvature.h - the telemetry of a run: every quantity of every matrix over time, for a heat map.
 *
 * It is many lines of metrics.jsonl, so it is read only for runs that somebody looks at, some
 * megabytes at a time. There are at most CURVATURE_COLUMNS columns: when they are full,
 * neighbours are joined, and a cell is the mean of its values.
 */
#ifndef MOUSSE_WATCH_CURVATURE_H
#define MOUSSE_WATCH_CURVATURE_H

#include "watch/tail.h"

#include <jansson.h>

enum {
  CURVATURE_COLUMNS = 160,
  CURVATURE_QUANTITIES = 64,
  CURVATURE_MATRICES = 1024,
  CURVATURE_NAME = 64
};

typedef struct curvature_cell {
  float sum;
  unsigned count; /* of finite values */
} curvature_cell;

typedef struct curvature_map {
  file_tail tail;
  double asked; /* seconds: when somebody looked at it last */
  char matrices[CURVATURE_MATRICES][CURVATURE_NAME];
  char quantities[CURVATURE_QUANTITIES][CURVATURE_NAME];
  size_t matrix_count, quantity_count;
  uint64_t steps[CURVATURE_COLUMNS]; /* the last of each column */
  size_t columns;
  uint64_t width, filled; /* steps in a full column, and in the last one */
  curvature_cell *cells;  /* owned: matrices x CURVATURE_QUANTITIES x CURVATURE_COLUMNS */
  size_t capacity;        /* matrices */
} curvature_map;

/* Reads what is new in DIRECTORY/metrics.jsonl, at most about `most` bytes. True: there is more. */
bool curvature_read(curvature_map *map, int directory, size_t most);
void curvature_release(curvature_map *map);

/* {"steps", "matrices", "quantities": names, "rows": [[value per step] per matrix],
 *  "curves": {quantity: [value per step]}}
 *
 * Rows are of the quantity, curves of the matrix that is asked for; NULL: none. */
json_t *curvature_json(curvature_map *map, const char *quantity, const char *matrix);

#endif
