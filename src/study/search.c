/* search.c - a search by steps along coordinates. */
#include "study/search.h"

#include <math.h>
#include <string.h>

/* Points being collected. */
typedef struct collection {
  const search *s;
  search_point *points;
  size_t count, most;
} collection;

static bool same(const search_point *a, const search_point *b)
{
  return memcmp(a->at, b->at, sizeof a->at) == 0;
}

static void collect(collection *c, search_point point)
{
  for (size_t i = 0; i < c->s->count; i++)
    if (same(&c->s->trials[i].point, &point)) return;
  for (size_t i = 0; i < c->count; i++)
    if (same(&c->points[i], &point)) return;
  if (c->count < c->most) c->points[c->count++] = point;
}

static void collect_along(collection *c, search_point from, int step)
{
  for (size_t d = 0; d < c->s->together; d++)
    for (int sign = 1; sign >= -1; sign -= 2) {
      search_point point = from;
      point.at[d] += sign * step;
      collect(c, point);
    }
}

/* Every combination of a step up or down in all dimensions. */
static void collect_corners(collection *c, search_point from, int step)
{
  if (c->s->together < 2) return;
  for (unsigned signs = 0; signs < 1u << c->s->together; signs++) {
    search_point point = from;
    for (size_t d = 0; d < c->s->together; d++)
      point.at[d] += (signs >> d & 1u) != 0 ? -step : step;
    collect(c, point);
  }
}

static const search_trial *best_of(const search *s, size_t count)
{
  const search_trial *best = NULL;
  for (size_t i = 0; i < count; i++) {
    const search_trial *t = &s->trials[i];
    if (isfinite(t->loss) && (best == NULL || t->loss < best->loss)) best = t;
  }
  return best;
}

const search_trial *search_best(const search *s)
{
  return best_of(s, s->count);
}

const search_trial *search_best_together(const search *s)
{
  return best_of(s, s->count < s->budget ? s->count : s->budget);
}

/* Only as many as one round of the search holds: the next round starts from what it finds. */
static void collect_together(collection *c, search_point from)
{
  if (c->s->count == 0) {
    collect(c, from);
    return;
  }
  for (int step = 2; step >= 1 && c->count == 0; step--) {
    collect_along(c, from, step);
    if (c->count == 0) collect_corners(c, from, step);
  }
  for (int step = 4; c->count == 0 && c->most > 0; step += 2) collect_along(c, from, step);
}

static void collect_alone(collection *c, search_point from)
{
  const size_t d = c->s->together + (c->s->count - c->s->budget) / 2;
  if (d >= c->s->together + c->s->alone) return;
  for (int step = 2; step >= -2; step -= 4) {
    search_point point = from;
    point.at[d] += step;
    collect(c, point);
  }
}

size_t search_next(const search *s, search_point *points, size_t most)
{
  const search_trial *best = search_best(s);
  const search_point from = best != NULL ? best->point : (search_point){{0}};
  const size_t left = s->budget > s->count ? s->budget - s->count : most;
  collection c = {.s = s, .points = points, .most = left < most ? left : most};
  if (s->count < s->budget)
    collect_together(&c, from);
  else
    collect_alone(&c, from);
  return c.count;
}

void search_add(search *s, search_point point, double loss, size_t run)
{
  if (s->count < SEARCH_MOST) s->trials[s->count++] = (search_trial){point, loss, run};
}

size_t search_left(const search *s)
{
  return s->budget + 2 * s->alone - s->count;
}

bool search_inside(const search *s, size_t dimension)
{
  const search_trial *best = search_best_together(s);
  bool below = false, above = false;
  for (size_t i = 0; best != NULL && i < s->count; i++) {
    search_point moved = s->trials[i].point;
    const int off = moved.at[dimension] - best->point.at[dimension];
    moved.at[dimension] = best->point.at[dimension];
    if (!same(&moved, &best->point)) continue;
    below = below || off < 0;
    above = above || off > 0;
  }
  return below && above;
}
