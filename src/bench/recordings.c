/* recordings.c - what was recorded, without the noise of a machine that others use, too. */
#include "bench/recordings.h"

#include "base/memory.h"
#include "bench/bench_measure.h"

double recording_seconds(const mo_recording *r)
{
  double sum = 0;
  for (size_t i = 0; i < r->item_count; i++) sum += r->items[i].after;
  for (size_t i = 0; i < r->loop_count; i++) sum += r->loops[i].before;
  return sum;
}

static void scale(mo_recording *r, double factor)
{
  for (size_t i = 0; i < r->item_count; i++) r->items[i].after *= factor;
  for (size_t i = 0; i < r->loop_count; i++) r->loops[i].before *= factor;
}

mousse_status recordings_merge(mo_recording *all, size_t count, mo_error *error)
{
  double values[RECORDINGS_MOST], sums[RECORDINGS_MOST];
  mo_recording *first = &all[0];
  for (size_t k = 0; k < count; k++) {
    if (all[k].item_count != first->item_count || all[k].loop_count != first->loop_count)
      return mo_fail(error, MOUSSE_WRONG_PHASE, "two recordings of the same work differ");
    sums[k] = recording_seconds(&all[k]);
  }
  for (size_t i = 0; i < first->item_count; i++) {
    for (size_t k = 0; k < count; k++) values[k] = all[k].items[i].after;
    first->items[i].after = bench_median(values, count);
  }
  for (size_t i = 0; i < first->loop_count; i++) {
    for (size_t k = 0; k < count; k++) values[k] = all[k].loops[i].before;
    first->loops[i].before = bench_median(values, count);
  }
  const double found = recording_seconds(first);
  if (found > 0) scale(first, bench_median(sums, count) / found);
  return MOUSSE_OK;
}

static bool has_loops(const mo_recording *r, const mo_recorded_loop *loop)
{
  for (size_t i = 0; i < loop->count; i++)
    if (r->items[loop->first_item + i].first_loop != MO_NO_LOOP) return true;
  return false;
}

static bool alike(const mo_recording *r, const mo_recorded_loop *a, const mo_recorded_loop *b)
{
  if (a->kind != b->kind || a->count != b->count) return false;
  for (size_t i = 0; i < a->count; i++)
    if (r->items[a->first_item + i].kind != r->items[b->first_item + i].kind) return false;
  return true;
}

/* Some items of a loop, all of one kind. */
typedef struct item_stretch {
  size_t first, end; /* places in the loop */
} item_stretch;

static item_stretch next_stretch(const mo_recording *r, const mo_recorded_loop *loop,
                                 size_t first)
{
  const mo_recorded_item *items = r->items + loop->first_item;
  size_t end = first + 1;
  while (end < loop->count && items[end].kind == items[first].kind) end++;
  return (item_stretch){first, end};
}

static double mean_of(const mo_recording *r, const mo_recorded_loop *loop, item_stretch s)
{
  double sum = 0;
  for (size_t i = s.first; i < s.end; i++) sum += r->items[loop->first_item + i].after;
  return sum / (double)(s.end - s.first);
}

/* Loops alike, and memory for a number of each and for one of each item. */
typedef struct family {
  size_t *loops, count;
  double *values, *parts;
} family;

/* What each item of the stretch takes of its loop's mean, by the median over the family. */
static void find_parts(const mo_recording *r, const family *f, item_stretch s)
{
  double sum = 0;
  for (size_t i = s.first; i < s.end; i++) {
    for (size_t k = 0; k < f->count; k++) {
      const mo_recorded_loop *loop = &r->loops[f->loops[k]];
      const double mean = mean_of(r, loop, s);
      f->values[k] = mean > 0 ? r->items[loop->first_item + i].after / mean : 1;
    }
    f->parts[i] = bench_median(f->values, f->count);
    sum += f->parts[i];
  }
  for (size_t i = s.first; i < s.end && sum > 0; i++)
    f->parts[i] *= (double)(s.end - s.first) / sum;
}

static void even_out_family(mo_recording *r, const family *f)
{
  const mo_recorded_loop *model = &r->loops[f->loops[0]];
  for (size_t first = 0; first < model->count;) {
    const item_stretch s = next_stretch(r, model, first);
    find_parts(r, f, s);
    for (size_t k = 0; k < f->count; k++) {
      const mo_recorded_loop *loop = &r->loops[f->loops[k]];
      const double mean = mean_of(r, loop, s);
      for (size_t i = s.first; i < s.end; i++)
        r->items[loop->first_item + i].after = mean * f->parts[i];
    }
    first = s.end;
  }
}

/* Of the first loop alike none stands before `at`. */
static bool find_family(const mo_recording *r, size_t at, family *f)
{
  f->count = 0;
  if (has_loops(r, &r->loops[at])) return false;
  for (size_t i = 0; i < r->loop_count; i++)
    if (alike(r, &r->loops[at], &r->loops[i])) f->loops[f->count++] = i;
  return f->loops[0] == at && f->count > 2;
}

mousse_status recording_even_out(mo_recording *r, mo_error *error)
{
  const size_t loops = r->loop_count, items = r->item_count;
  family f = {.loops = mo_allocate(NULL, (loops + 1) * sizeof *f.loops),
              .values = mo_allocate(NULL, (loops + 1) * sizeof *f.values),
              .parts = mo_allocate(NULL, items * sizeof *f.parts)};
  const bool have = f.loops != NULL && f.values != NULL && f.parts != NULL;
  for (size_t i = 0; have && i < loops; i++)
    if (find_family(r, i, &f)) even_out_family(r, &f);
  mo_release(NULL, f.loops, (loops + 1) * sizeof *f.loops);
  mo_release(NULL, f.values, (loops + 1) * sizeof *f.values);
  mo_release(NULL, f.parts, items * sizeof *f.parts);
  return have ? MOUSSE_OK
              : mo_fail(error, MOUSSE_NO_MEMORY, "no memory to compare %zu loops", loops);
}
