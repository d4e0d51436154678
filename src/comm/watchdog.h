/* watchdog.h - a thread that notices when waiting for other ranks takes too long: a stopped
 * process or a dead machine does not close its connections. */
#ifndef MOUSSE_COMM_WATCHDOG_H
#define MOUSSE_COMM_WATCHDOG_H

#include <pthread.h>
#include <stdbool.h>

typedef void (*mo_watchdog_fn)(int rank, double seconds); /* on the watchdog's thread */

typedef struct mo_watchdog {
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  bool running, ending;
  double waiting_since; /* 0: not waiting */
  double limit;
  int rank;
  mo_watchdog_fn hung; /* for people */
  void (*end)(void);   /* then this, which does not return */
} mo_watchdog;

/* False when there is no thread to be had. The watchdog must not move while it runs. */
bool mo_watchdog_start(mo_watchdog *watchdog, int rank, double limit, mo_watchdog_fn hung,
                       void (*end)(void));
void mo_watchdog_stop(mo_watchdog *watchdog); /* accepts one that was not started */

/* Around everything that waits for others; NULL is accepted. */
void mo_watchdog_begin(mo_watchdog *watchdog);
void mo_watchdog_finish(mo_watchdog *watchdog);

#endif
