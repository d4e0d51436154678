/* team.c - a parallel loop whose items can be divided further.
 *
 * One lock guards the counters of the team and of all open loops. Parts take tenths of a
 * millisecond and more, taking one takes a tenth of a microsecond: the lock is free nearly
 * always. Open loops live on the stacks of the items that opened them, which wait until every
 * part is done: nothing is allocated.
 */
#include "base/team.h"

#include "base/arithmetic.h"
#include "base/recorder.h"

#include <omp.h>
#include <pthread.h>

typedef struct open_loop {
  size_t next, done, count;
  mo_body body;
  void *context;
  bool hurried;
  struct open_loop *below; /* the one opened before it */
} open_loop;

typedef struct team {
  size_t next, done, count; /* of the items */
  size_t hurried;           /* of those at work, in a hurry */
  mo_body body;
  void *context;
  int threads;
  pthread_mutex_t lock;
  pthread_cond_t work; /* there are parts to take, or everything is done */
  pthread_cond_t over; /* all parts of some loop are done */
  open_loop *open;     /* the one opened last; all have parts that nobody took yet */
} team;

static _Thread_local team *here;    /* while an item runs, but not a part */
static _Thread_local bool hurrying; /* this thread's item is in a hurry */

bool mo_team_inside(void)
{
  return here != NULL;
}

static void close_loop(team *t, const open_loop *loop)
{
  open_loop **link = &t->open;
  while (*link != loop) link = &(*link)->below;
  *link = loop->below;
}

/* With the lock held, which is given back meanwhile: the next part of a loop that has one. */
static void run_part(team *t, open_loop *loop)
{
  const size_t part = loop->next++;
  team *const outside = here;
  if (loop->next == loop->count) close_loop(t, loop);
  pthread_mutex_unlock(&t->lock);
  here = NULL;
  loop->body(loop->context, part, omp_get_thread_num());
  here = outside;
  pthread_mutex_lock(&t->lock);
  if (++loop->done == loop->count) pthread_cond_broadcast(&t->over);
}

/* The one opened last of an item in a hurry; NULL: none, or too many are. */
static open_loop *hurried_loop(const team *t)
{
  open_loop *loop = t->open;
  if (t->hurried == 0 || 4 * t->hurried > (size_t)t->threads) return NULL;
  while (loop != NULL && !loop->hurried) loop = loop->below;
  return loop;
}

void mo_team_hurry(void)
{
  if (here == NULL || hurrying) return;
  hurrying = true;
  if (mo_recording_on()) return;
  pthread_mutex_lock(&here->lock);
  here->hurried++;
  pthread_mutex_unlock(&here->lock);
}

static void run_item(team *t)
{
  const size_t item = t->next++;
  pthread_mutex_unlock(&t->lock);
  here = t;
  t->body(t->context, item, omp_get_thread_num());
  here = NULL;
  pthread_mutex_lock(&t->lock);
  t->hurried -= hurrying;
  hurrying = false;
  if (++t->done == t->count) pthread_cond_broadcast(&t->work);
}

/* One thread: items, then parts of others' loops, until all items are done. */
static void work(team *t)
{
  MO_OWN_ARITHMETIC;
  pthread_mutex_lock(&t->lock);
  while (t->done < t->count) {
    open_loop *hurried = hurried_loop(t);
    if (hurried != NULL)
      run_part(t, hurried);
    else if (t->next < t->count)
      run_item(t);
    else if (t->open != NULL)
      run_part(t, t->open);
    else
      pthread_cond_wait(&t->work, &t->lock);
  }
  pthread_mutex_unlock(&t->lock);
}

/* As parts of an item are run by a team of one. */
static void run_alone(size_t count, mo_body body, void *context)
{
  team *const outside = here;
  here = NULL;
  for (size_t part = 0; part < count; part++) body(context, part, omp_get_thread_num());
  here = outside;
}

typedef struct recorded_loop {
  mo_body body;
  void *context;
  bool item; /* of a team; otherwise a part */
} recorded_loop;

static void run_recorded(void *context, size_t item, int thread)
{
  static team alone = {.threads = 1};
  const recorded_loop *l = context;
  team *const outside = here;
  here = l->item ? &alone : NULL;
  l->body(l->context, item, thread);
  here = outside;
  if (l->item) hurrying = false;
}

static void record(const char *file, const char *name, size_t count, recorded_loop loop)
{
  const mo_task task = {.count = count, .body = run_recorded, .context = &loop};
  mo_record_tasks(file, name, &task, 1, loop.item, !loop.item && hurrying);
}

void mo_team_run_at(const char *file, const char *name, int threads, size_t count, mo_body body,
                    void *context)
{
  team t = {.count = count,
            .body = body,
            .context = context,
            .threads = threads > 1 ? threads : 1,
            .lock = PTHREAD_MUTEX_INITIALIZER,
            .work = PTHREAD_COND_INITIALIZER,
            .over = PTHREAD_COND_INITIALIZER};
  if (mo_recording_on()) {
    record(file, name, count, (recorded_loop){body, context, true});
    return;
  }
#pragma omp parallel num_threads(t.threads) if (t.threads > 1)
  work(&t);
  pthread_cond_destroy(&t.over);
  pthread_cond_destroy(&t.work);
  pthread_mutex_destroy(&t.lock);
}

static void wake_helpers(team *t, size_t parts)
{
  if (parts >= (size_t)t->threads) {
    pthread_cond_broadcast(&t->work);
    return;
  }
  for (size_t i = 0; i < parts; i++) pthread_cond_signal(&t->work);
}

void mo_team_divide_at(const char *file, const char *name, size_t count, mo_body body,
                       void *context)
{
  team *t = here;
  if (mo_recording_on()) {
    record(file, name, count, (recorded_loop){body, context, false});
    return;
  }
  if (t == NULL || t->threads == 1 || count <= 1) {
    run_alone(count, body, context);
    return;
  }
  pthread_mutex_lock(&t->lock);
  open_loop loop = {
      .count = count, .body = body, .context = context, .hurried = hurrying, .below = t->open};
  t->open = &loop;
  if (t->next == t->count) wake_helpers(t, count - 1);
  while (loop.next < loop.count) {
    open_loop *hurried = hurrying ? NULL : hurried_loop(t);
    run_part(t, hurried != NULL ? hurried : &loop);
  }
  while (loop.done < loop.count) pthread_cond_wait(&t->over, &t->lock);
  pthread_mutex_unlock(&t->lock);
}
