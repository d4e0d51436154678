/* watchdog.c - see watchdog.h. */
#include "comm/watchdog.h"

#include "base/clock.h"

#include <math.h>
#include <time.h>

/* Sleeps for a while or until the watchdog is to end. */
static void rest(mo_watchdog *w, double seconds)
{
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  const double whole = floor(seconds);
  until.tv_sec += (time_t)whole;
  until.tv_nsec += (long)(1e9 * (seconds - whole));
  if (until.tv_nsec >= 1000000000L) {
    until.tv_sec++;
    until.tv_nsec -= 1000000000L;
  }
  pthread_cond_timedwait(&w->changed, &w->mutex, &until);
}

static void *watch(void *argument)
{
  mo_watchdog *w = argument;
  const double pause = w->limit < 4 ? w->limit / 4 : 1;
  pthread_mutex_lock(&w->mutex);
  while (!w->ending) {
    const double waited = w->waiting_since > 0 ? mo_seconds() - w->waiting_since : 0;
    if (waited > w->limit) {
      if (w->hung != NULL) w->hung(w->rank, waited);
      w->end();
    }
    rest(w, pause);
  }
  pthread_mutex_unlock(&w->mutex);
  return NULL;
}

bool mo_watchdog_start(mo_watchdog *w, int rank, double limit, mo_watchdog_fn hung,
                       void (*end)(void))
{
  pthread_condattr_t attributes;
  *w = (mo_watchdog){.limit = limit, .rank = rank, .hung = hung, .end = end};
  if (pthread_mutex_init(&w->mutex, NULL) != 0) return false;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  const bool have_condition = pthread_cond_init(&w->changed, &attributes) == 0;
  pthread_condattr_destroy(&attributes);
  w->running = have_condition && pthread_create(&w->thread, NULL, watch, w) == 0;
  if (!w->running && have_condition) pthread_cond_destroy(&w->changed);
  if (!w->running) pthread_mutex_destroy(&w->mutex);
  return w->running;
}

void mo_watchdog_stop(mo_watchdog *w)
{
  if (!w->running) return;
  pthread_mutex_lock(&w->mutex);
  w->ending = true;
  pthread_cond_signal(&w->changed);
  pthread_mutex_unlock(&w->mutex);
  pthread_join(w->thread, NULL);
  pthread_cond_destroy(&w->changed);
  pthread_mutex_destroy(&w->mutex);
  w->running = false;
}

static void set_waiting(mo_watchdog *w, double since)
{
  if (w == NULL || !w->running) return;
  pthread_mutex_lock(&w->mutex);
  w->waiting_since = since;
  pthread_mutex_unlock(&w->mutex);
}

void mo_watchdog_begin(mo_watchdog *w)
{
  set_waiting(w, mo_seconds());
}

void mo_watchdog_finish(mo_watchdog *w)
{
  set_waiting(w, 0);
}
