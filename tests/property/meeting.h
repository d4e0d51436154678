/* meeting.h - ranks played by threads of this program, over a mousse_comm of their own. A rank
 * that sums while another broadcasts, or that sums another number of floats, ends the program
 * with a sentence: over MPI it would hang. */
#ifndef MOUSSE_TESTS_PROPERTY_MEETING_H
#define MOUSSE_TESTS_PROPERTY_MEETING_H

#include <mousse/mousse.h>
#include <pthread.h>

enum { MEETING_MAX_RANKS = 8 };

typedef struct meeting meeting;

typedef struct meeting_member {
  meeting *meeting;
  int rank, calls, sums; /* sums: of the calls */
  void *user;            /* what meeting_run was given for this rank */
} meeting_member;

typedef void (*meeting_fn)(meeting_member *self, const mousse_comm *comm);

/* Calls fn on a thread for each rank, with users[rank] as its user, and waits for all of them.
 * fail_after: calls of the communicator on each rank until it fails; negative: never. */
void meeting_run(int ranks, int fail_after, meeting_fn fn, void *const *users);

#endif
