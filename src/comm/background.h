/* background.h - sums over ranks taken by a thread of its own while the caller computes.
 *
 *     start -> (submit* -> wait)* -> stop
 *
 * The sums are taken one after the other in the order of submission, which must be the same on
 * all ranks. Between a submission and the end of the next wait the communicator and the data
 * belong to the thread; so no two threads ever use the communicator at a time.
 */
#ifndef MOUSSE_COMM_BACKGROUND_H
#define MOUSSE_COMM_BACKGROUND_H

#include "base/error.h"

#include <pthread.h>
#include <stdbool.h>

enum { MO_BACKGROUND_PLACES = 64 }; /* a submission to a full queue waits */

typedef struct mo_background {
  const mousse_comm *comm; /* borrowed */
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  struct {
    float *data;
    size_t count;
  } queue[MO_BACKGROUND_PLACES];
  size_t submitted, done;
  bool running, failed, ending;
} mo_background;

/* False when there is no thread to be had. It must not move while it runs. */
bool mo_background_start(mo_background *background, const mousse_comm *comm);
void mo_background_stop(mo_background *background); /* accepts one that was not started */

void mo_background_submit(mo_background *background, float *data, size_t count);
mousse_status mo_background_wait(mo_background *background, mo_error *error);

#endif
