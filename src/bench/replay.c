/* replay.c - a recording on cores that this machine does not have.
 *
 * From event to event: an event is the end of a piece of work on some core, and between two of
 * them every busy core goes on at its own speed. What a core is doing is an item, up to its next
 * loop, or a part of such a loop, its own item's or another's.
 */
#include "bench/replay.h"

#include "base/memory.h"

#include <math.h>

enum { NONE = -1 };

typedef struct core {
  double left;  /* seconds of what it does, alone; only when busy */
  double share; /* of that, waiting for memory */
  bool busy;
  long item;    /* of the loop that is replayed; NONE: it has none */
  long loop;    /* inside that item, to be opened when `left` is over; NONE: the item ends */
  long part;    /* the loop that it does a part of; NONE: it is on its item */
  bool hurried; /* its item is in a hurry */
} core;

/* A loop inside an item. */
typedef struct opened {
  size_t next, done;
  long below; /* the one opened before it, as long as it has parts that nobody took */
  int owner;
} opened;

typedef struct stage {
  const mo_recording *r;
  const double *shares;
  const replay_machine *machine;
  const mo_recorded_loop *loop; /* that is replayed */
  size_t next, done;            /* of its items */
  core *cores;
  opened *opened; /* of each loop of the recording */
  long open;      /* the one opened last; NONE */
  int hurried;    /* items in a hurry */
} stage;

double replay_item_seconds(const mo_recording *r, size_t item)
{
  double sum = r->items[item].after;
  for (long l = r->items[item].first_loop; l != MO_NO_LOOP; l = r->loops[l].next) {
    sum += r->loops[l].before;
    for (size_t i = 0; i < r->loops[l].count; i++)
      sum += replay_item_seconds(r, r->loops[l].first_item + i);
  }
  return sum;
}

static void do_piece(stage *s, core *c, double seconds, size_t item)
{
  c->busy = true;
  c->left = seconds;
  c->share = s->shares != NULL ? s->shares[s->r->items[item].kind] : 0.0;
}

/* The item goes on up to the loop, or to its end. */
static void go_on(stage *s, core *c, long loop)
{
  c->part = NONE;
  c->loop = loop;
  do_piece(s, c, loop == MO_NO_LOOP ? s->r->items[c->item].after : s->r->loops[loop].before,
           (size_t)c->item);
}

static void close_loop(stage *s, long loop)
{
  long *link = &s->open;
  while (*link != loop) link = &s->opened[*link].below;
  *link = s->opened[loop].below;
}

static void take_part(stage *s, core *c, long loop, double delay)
{
  const size_t item = s->r->loops[loop].first_item + s->opened[loop].next++;
  if (s->opened[loop].next == s->r->loops[loop].count) close_loop(s, loop);
  c->part = loop;
  do_piece(s, c, replay_item_seconds(s->r, item) + delay, item);
}

/* The loop opened last of an item in a hurry; NONE: there is none, or too many are. */
static long hurried_loop(const stage *s)
{
  long loop = s->open;
  if (s->hurried == 0 || 4 * s->hurried > s->machine->cores) return NONE;
  while (loop != NONE && !s->r->loops[loop].hurried) loop = s->opened[loop].below;
  return loop;
}

/* For a core with nothing to do: a part that is in a hurry, an item, a part of another's loop, or
 * nothing. */
static void find_work(stage *s, core *c)
{
  c->busy = false;
  c->item = NONE;
  const long hurried = s->loop->helped ? hurried_loop(s) : NONE;
  if (hurried != NONE) {
    take_part(s, c, hurried, s->machine->fork);
  } else if (s->next < s->loop->count) {
    c->item = (long)(s->loop->first_item + s->next++);
    go_on(s, c, s->r->items[c->item].first_loop);
  } else if (s->loop->helped && s->open != NONE) {
    take_part(s, c, s->open, s->machine->fork);
  }
}

/* For a core whose item has opened a loop: its parts, but those in a hurry first; then it waits for
 * the others, and goes on. */
static void go_on_inside(stage *s, core *c)
{
  const opened *o = &s->opened[c->loop];
  const long hurried = c->hurried || !s->loop->helped ? NONE : hurried_loop(s);
  if (o->next < s->r->loops[c->loop].count)
    take_part(s, c, hurried != NONE ? hurried : c->loop, 0.0);
  else if (o->done == s->r->loops[c->loop].count)
    go_on(s, c, s->r->loops[c->loop].next);
}

static void open_loop(stage *s, int owner)
{
  core *c = &s->cores[owner];
  const long loop = c->loop;
  s->opened[loop] = (opened){0, 0, s->open, owner};
  s->open = loop;
  if (s->r->loops[loop].hurried && !c->hurried) c->hurried = true, s->hurried++;
  go_on_inside(s, c);
  for (int i = 0; s->loop->helped && i < s->machine->cores; i++)
    if (!s->cores[i].busy && s->cores[i].item == NONE && s->open != NONE)
      find_work(s, &s->cores[i]);
}

/* A part is done: its loop may be, and then the item that waits for it goes on. */
static void end_part(stage *s, core *c)
{
  const long loop = c->part;
  opened *o = &s->opened[loop];
  core *owner = &s->cores[o->owner];
  o->done++;
  c->busy = false;
  c->part = NONE;
  if (c->item != NONE) go_on_inside(s, c);
  if (owner != c && !owner->busy) go_on_inside(s, owner);
  if (c->item == NONE) find_work(s, c);
}

static void end_piece(stage *s, int which)
{
  core *c = &s->cores[which];
  if (c->part != NONE) {
    end_part(s, c);
  } else if (c->loop != MO_NO_LOOP) {
    open_loop(s, which);
  } else {
    s->done++;
    s->hurried -= c->hurried;
    c->hurried = false;
    find_work(s, c);
  }
}

/* How much longer waiting for memory takes than alone. */
static double crowding(const stage *s)
{
  double demand = 0.0;
  for (int i = 0; i < s->machine->cores; i++)
    if (s->cores[i].busy) demand += s->cores[i].share;
  return fmax(1.0, demand / s->machine->bandwidth);
}

/* Up to the next event; returns the seconds until then. */
static double advance(stage *s)
{
  const double crowded = crowding(s);
  double soonest = INFINITY;
  int first = 0;
  for (int i = 0; i < s->machine->cores; i++) {
    const core *c = &s->cores[i];
    const double seconds = c->left * (1.0 - c->share + c->share * crowded);
    if (!c->busy || !(seconds < soonest)) continue;
    soonest = seconds;
    first = i;
  }
  for (int i = 0; i < s->machine->cores; i++) {
    core *c = &s->cores[i];
    if (c->busy) c->left -= soonest / (1.0 - c->share + c->share * crowded);
    if (c->busy && c->left < 0.0) c->left = 0.0;
  }
  end_piece(s, first);
  return soonest;
}

static double replay_one(stage *s, const mo_recorded_loop *loop)
{
  const bool alone = s->machine->cores == 1 || (loop->count == 1 && !loop->helped);
  double seconds = alone ? 0.0 : s->machine->fork;
  s->loop = loop;
  s->next = s->done = 0;
  s->open = NONE;
  s->hurried = 0;
  for (int i = 0; i < s->machine->cores; i++)
    s->cores[i] = (core){.item = NONE, .loop = MO_NO_LOOP, .part = NONE};
  for (int i = 0; i < s->machine->cores; i++) find_work(s, &s->cores[i]);
  while (s->done < loop->count) seconds += advance(s);
  return seconds;
}

static void note(const mo_recording *r, const mo_recorded_loop *loop, double span,
                 replay_loop *total, double *work)
{
  double longest = 0.0, sum = 0.0;
  for (size_t i = 0; i < loop->count; i++) {
    const double seconds = replay_item_seconds(r, loop->first_item + i);
    longest = fmax(longest, seconds);
    sum += seconds;
  }
  *work += sum;
  if (total == NULL) return;
  total[loop->kind].work += sum;
  total[loop->kind].span += span;
  total[loop->kind].before += loop->before;
  total[loop->kind].longest = fmax(total[loop->kind].longest, longest);
  total[loop->kind].items += loop->count;
  total[loop->kind].times++;
}

static void replay_all(stage *s, replay_loop *loops, replay_result *result)
{
  const mo_recording *r = s->r;
  *result = (replay_result){.after = r->items[0].after};
  result->one_core = result->seconds = r->items[0].after;
  for (long l = r->items[0].first_loop; l != MO_NO_LOOP; l = r->loops[l].next) {
    const mo_recorded_loop *loop = &r->loops[l];
    const double span = replay_one(s, loop);
    note(r, loop, span, loops, &result->one_core);
    result->one_core += loop->before;
    result->seconds += loop->before + span;
  }
}

mousse_status replay(const mo_recording *recording, const double *shares,
                     const replay_machine *machine, replay_loop *loops, replay_result *result,
                     mo_error *error)
{
  const size_t cores = (size_t)machine->cores, count = recording->loop_count + 1;
  stage s = {.r = recording, .shares = shares, .machine = machine};
  s.cores = mo_allocate(NULL, cores * sizeof *s.cores);
  s.opened = mo_allocate(NULL, count * sizeof *s.opened);
  const bool have = s.cores != NULL && s.opened != NULL;
  if (have) replay_all(&s, loops, result);
  mo_release(NULL, s.opened, count * sizeof *s.opened);
  mo_release(NULL, s.cores, cores * sizeof *s.cores);
  if (have) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_NO_MEMORY, "no memory to replay %zu loops on %d cores", count,
                 machine->cores);
}
