/* sending.h - every rank's new values to all: after the updates or, with the option overlap,
 * while others are still computed.
 *
 * Shares are sent in one order on all ranks: by when they should be ready, as the costs of what
 * their owners compute before them say. Overlapped, a thread goes along that order, waits for
 * what is computed here, and receives the rest; so the communicator is used by one thread at a
 * time, whichever it is.
 *
 *     start -> (done for every item of the updates) -> finish
 */
#ifndef MOUSSE_OPTIM_SENDING_H
#define MOUSSE_OPTIM_SENDING_H

#include "optim/optimizer.h"

#include <pthread.h>

typedef struct mo_sending {
  mousse_optimizer *opt;
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t ready;
  bool ahead;  /* there is a thread; without one, finish sends everything */
  bool failed; /* the communicator did */
} mo_sending;

/* Fills the order in opt->sent; `cost` has every parameter's flops, `done` a zero for each rank. */
void mo_sending_plan(mousse_optimizer *opt, const double *cost, double *done);

/* opt->params[i].items_left must be set. It must not move until finish. */
void mo_sending_start(mo_sending *sending, mousse_optimizer *opt);
void mo_sending_done(mo_sending *sending, mo_param *param); /* from any thread */
mousse_status mo_sending_finish(mo_sending *sending);       /* [collective] */

#endif
