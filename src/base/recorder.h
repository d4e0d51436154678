/* recorder.h - the parallel loops of some work, as one thread went through them.
 *
 * While a thread records, its loops run on it alone, item after item, and the time of every part
 * is kept:
 *
 *     item = before, loop, before, loop, ..., after       (seconds of serial work around loops)
 *     loop = items
 *
 * The whole recording is item 0. What it would take on more cores can then be computed
 * (bench/replay.h). Without a recording a loop costs one look at a thread-local pointer more.
 */
#ifndef MOUSSE_BASE_RECORDER_H
#define MOUSSE_BASE_RECORDER_H

#include "base/parallel.h"

#include <stdbool.h>

/* What items do: the file and the function, or a task's name. */
typedef struct mo_recorded_kind {
  const char *file, *name;
} mo_recorded_kind;

enum { MO_NO_LOOP = -1 };

typedef struct mo_recorded_item {
  double after;    /* seconds from its last loop, or from its beginning, to its end */
  long first_loop; /* MO_NO_LOOP: none */
  size_t kind;
} mo_recorded_item;

typedef struct mo_recorded_loop {
  double before;            /* seconds of its item from the loop before it, or the beginning */
  size_t first_item, count; /* its items follow one another */
  size_t kind;              /* where it stands */
  long next;                /* of the same item; MO_NO_LOOP: the last */
  bool helped;              /* threads that have no item left help inside others' (team.h) */
  bool hurried;             /* its item is in a hurry */
} mo_recorded_loop;

typedef struct mo_recording {
  mo_recorded_item *items; /* owned, as the others; [0] is the whole */
  size_t item_count, item_room;
  mo_recorded_loop *loops;
  size_t loop_count, loop_room;
  mo_recorded_kind *kinds;
  size_t kind_count, kind_room;
  bool incomplete; /* there was no memory for all of it */

  /* While it is recorded. */
  size_t item;    /* the one that runs */
  long last_loop; /* of that item; MO_NO_LOOP: none yet */
  double mark;    /* when its last loop, or itself, ended or began */
} mo_recording;

/* From now on this thread records into *recording, which is emptied. One at a time. */
void mo_recording_start(mo_recording *recording);
/* False: there was no memory for all of it. */
bool mo_recording_stop(mo_recording *recording);
void mo_recording_release(mo_recording *recording);

/* For loops: whether this thread records, and one loop of it. */
bool mo_recording_on(void);
void mo_record_tasks(const char *file, const char *name, const mo_task *tasks,
                     size_t task_count, bool helped, bool hurried);

#endif
