/* recorder.c - the parallel loops of some work, as one thread went through them. */
#include "base/recorder.h"

#include "base/clock.h"
#include "base/memory.h"

#include <string.h>

static _Thread_local mo_recording *active;

bool mo_recording_on(void)
{
  return active != NULL;
}

static bool grow(void *array, size_t *room, size_t wanted, size_t bytes)
{
  return wanted <= *room || mo_grow(NULL, array, room, wanted, bytes);
}

/* The number of a kind, which is new or was seen before; 0 where there is no memory. */
static size_t find_kind(mo_recording *r, const char *file, const char *name)
{
  for (size_t i = 0; i < r->kind_count; i++)
    if (strcmp(r->kinds[i].name, name) == 0 && strcmp(r->kinds[i].file, file) == 0) return i;
  if (!grow(&r->kinds, &r->kind_room, r->kind_count + 1, sizeof *r->kinds)) {
    r->incomplete = true;
    return 0;
  }
  r->kinds[r->kind_count] = (mo_recorded_kind){file, name};
  return r->kind_count++;
}

void mo_recording_start(mo_recording *r)
{
  r->item_count = r->loop_count = r->kind_count = 0;
  r->incomplete = !grow(&r->items, &r->item_room, 1, sizeof *r->items);
  r->item = 0;
  r->last_loop = MO_NO_LOOP;
  if (!r->incomplete)
    r->items[r->item_count++] = (mo_recorded_item){0, MO_NO_LOOP, find_kind(r, "", "serial")};
  active = r;
  r->mark = mo_thread_seconds();
}

bool mo_recording_stop(mo_recording *r)
{
  active = NULL;
  if (r->item_count > 0) r->items[0].after = mo_thread_seconds() - r->mark;
  return !r->incomplete;
}

void mo_recording_release(mo_recording *r)
{
  mo_release(NULL, r->items, r->item_room * sizeof *r->items);
  mo_release(NULL, r->loops, r->loop_room * sizeof *r->loops);
  mo_release(NULL, r->kinds, r->kind_room * sizeof *r->kinds);
  *r = (mo_recording){0};
}

/* A loop of the item that runs, behind its last one. False: no memory. */
static bool add_loop(mo_recording *r, size_t kind, size_t count, bool helped, bool hurried)
{
  if (!grow(&r->items, &r->item_room, r->item_count + count, sizeof *r->items) ||
      !grow(&r->loops, &r->loop_room, r->loop_count + 1, sizeof *r->loops))
    return false;
  const long added = (long)r->loop_count++;
  r->loops[added] = (mo_recorded_loop){
      mo_thread_seconds() - r->mark, r->item_count, count, kind, MO_NO_LOOP, helped, hurried};
  if (r->last_loop == MO_NO_LOOP)
    r->items[r->item].first_loop = added;
  else
    r->loops[r->last_loop].next = added;
  r->last_loop = added;
  r->item_count += count;
  return true;
}

static void run_item(mo_recording *r, size_t place, size_t kind, const mo_task *task,
                     size_t item)
{
  r->items[place] = (mo_recorded_item){0, MO_NO_LOOP, kind};
  r->item = place;
  r->last_loop = MO_NO_LOOP;
  r->mark = mo_thread_seconds();
  task->body(task->context, item, 0);
  r->items[place].after = mo_thread_seconds() - r->mark;
}

static void run_plainly(const mo_task *tasks, size_t task_count)
{
  for (size_t i = 0; i < task_count; i++)
    for (size_t item = 0; item < tasks[i].count; item++)
      tasks[i].body(tasks[i].context, item, 0);
}

void mo_record_tasks(const char *file, const char *name, const mo_task *tasks,
                     size_t task_count, bool helped, bool hurried)
{
  mo_recording *r = active;
  size_t count = 0;
  for (size_t i = 0; i < task_count; i++) count += tasks[i].count;
  const size_t outer = r->item;
  if (count == 0) return;
  if (r->incomplete || !add_loop(r, find_kind(r, file, name), count, helped, hurried)) {
    r->incomplete = true;
    run_plainly(tasks, task_count);
    return;
  }
  const long loop = r->last_loop;
  size_t place = r->loops[loop].first_item;
  for (size_t i = 0; i < task_count; i++) {
    const char *what = tasks[i].name != NULL ? tasks[i].name : name;
    const size_t kind = tasks[i].count > 0 ? find_kind(r, file, what) : 0;
    for (size_t item = 0; item < tasks[i].count; item++)
      run_item(r, place++, kind, &tasks[i], item);
  }
  r->item = outer;
  r->last_loop = loop;
  r->mark = mo_thread_seconds();
}
