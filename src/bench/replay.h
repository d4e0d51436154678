/* replay.h - a recording (base/recorder.h) on cores that this machine does not have.
 *
 * The cores follow the rules of parallel.h and team.h: low items first, the thread that opened a
 * loop inside an item takes its parts, free ones help, and all help items in a hurry first. Memory is the second resource: an item
 * that waits for memory during a share s of its time alone takes
 *
 *     (1 - s) + s * max(1, demand / bandwidth)       demand = the sum of s over busy cores
 *
 * times as long, all in units of what one core alone can stream.
 */
#ifndef MOUSSE_BENCH_REPLAY_H
#define MOUSSE_BENCH_REPLAY_H

#include "base/error.h"
#include "base/recorder.h"

typedef struct replay_machine {
  int cores;
  double bandwidth; /* in streams of one core; at least 1 */
  double fork;      /* seconds to start a loop on all cores and to wait for the last one */
} replay_machine;

/* What one loop of the program costs on these cores. */
typedef struct replay_loop {
  double work;    /* seconds of its items on one core */
  double span;    /* seconds that it takes */
  double before;  /* of that alone: the serial part before it */
  double longest; /* the longest item */
  size_t items, times;
} replay_loop;

typedef struct replay_result {
  double one_core; /* seconds of the recording */
  double seconds;  /* on these cores */
  double after;    /* the serial part behind the last loop, in both */
} replay_result;

/* shares[kind]: of its time that an item waits for memory; NULL: 0 for all. loops[kind] is
 * added to for loops of that kind that stand in the recording itself; may be NULL. */
mousse_status replay(const mo_recording *recording, const double *shares,
                     const replay_machine *machine, replay_loop *loops, replay_result *result,
                     mo_error *error);

/* Seconds of an item on one core, with all loops in it. */
double replay_item_seconds(const mo_recording *recording, size_t item);

#endif
