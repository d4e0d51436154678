/* series.c - rows in buckets that keep extremes and means. */
#include "watch/series.h"

#include "base/memory.h"

#include <math.h>
#include <stdatomic.h>
#include <time.h>

/* A layout is never used again: what a client has of a series that is gone, also one of a server
 * of before, must not be taken for a part of another under its name. Counted from the tenths of
 * milliseconds since 1970 on, they are below 2^53, which JavaScript has exactly. */
static uint64_t new_layout(void)
{
  static atomic_uint_fast64_t next;
  uint_fast64_t none = 0;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const uint64_t first = (uint64_t)now.tv_sec * 10000 + (uint64_t)now.tv_nsec / 100000;
  atomic_compare_exchange_strong(&next, &none, first);
  return atomic_fetch_add(&next, 1);
}

void series_start(watch_series *s, size_t columns)
{
  *s = (watch_series){.columns = columns, .width = 1, .layout = new_layout()};
}

static bool reserve(watch_series *s)
{
  if (s->places != NULL) return true;
  s->places = mo_allocate(NULL, SERIES_MOST * sizeof *s->places);
  s->cells = mo_allocate(NULL, SERIES_MOST * s->columns * sizeof *s->cells);
  if (s->places != NULL && s->cells != NULL) return true;
  series_release(s);
  return false;
}

static void join_cells(series_cell *a, const series_cell *b)
{
  if (b->count == 0) return;
  if (a->count == 0 || b->low < a->low) a->low = b->low;
  if (a->count == 0 || b->high > a->high) a->high = b->high;
  a->sum = a->count == 0 ? b->sum : a->sum + b->sum;
  a->count += b->count;
}

static void join_places(series_place *a, const series_place *b)
{
  if (a->rows == 0) a->first = b->first;
  a->last = b->last;
  a->tokens = b->tokens;
  a->seconds = b->seconds;
  a->rows += b->rows;
}

/* Bucket `from` becomes part of bucket `to`, which is not later. */
static void join(watch_series *s, size_t to, size_t from)
{
  join_places(&s->places[to], &s->places[from]);
  for (size_t c = 0; c < s->columns; c++)
    join_cells(&s->cells[to * s->columns + c], &s->cells[from * s->columns + c]);
}

static void empty(watch_series *s, size_t bucket)
{
  s->places[bucket] = (series_place){0};
  for (size_t c = 0; c < s->columns; c++) s->cells[bucket * s->columns + c] = (series_cell){0};
}

static void halve(watch_series *s)
{
  for (size_t i = 0; i < SERIES_MOST / 2; i++) {
    if (i > 0) {
      empty(s, i);
      join(s, i, 2 * i);
    }
    join(s, i, 2 * i + 1);
  }
  s->count = SERIES_MOST / 2;
  s->width *= 2;
  s->layout = new_layout();
}

bool series_add(watch_series *s, const series_place *place, const double *values)
{
  if (!reserve(s)) return false;
  if (s->count == 0 || s->places[s->count - 1].rows >= s->width) {
    if (s->count == SERIES_MOST) halve(s);
    empty(s, s->count++);
  }
  const size_t bucket = s->count - 1;
  const series_place row = {place->last, place->last, place->tokens, place->seconds, 1};
  join_places(&s->places[bucket], &row);
  for (size_t c = 0; c < s->columns; c++) {
    const series_cell cell = {values[c], values[c], values[c], isfinite(values[c]) ? 1 : 0};
    join_cells(&s->cells[bucket * s->columns + c], &cell);
  }
  return true;
}

void series_clear(watch_series *s)
{
  s->count = 0;
  s->width = 1;
  s->layout = new_layout();
}

void series_release(watch_series *s)
{
  mo_release(NULL, s->places, SERIES_MOST * sizeof *s->places);
  mo_release(NULL, s->cells, SERIES_MOST * s->columns * sizeof *s->cells);
  s->places = NULL;
  s->cells = NULL;
  s->count = 0;
}

const series_cell *series_at(const watch_series *s, size_t bucket, size_t column)
{
  return &s->cells[bucket * s->columns + column];
}

double series_mean(const series_cell *cell)
{
  return cell->count > 0 ? cell->sum / (double)cell->count : NAN;
}
