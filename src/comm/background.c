/* background.c - see background.h. */
#include "comm/background.h"

/* With the mutex held, which is released meanwhile. */
static void sum_next(mo_background *b)
{
  const size_t place = b->done % MO_BACKGROUND_PLACES;
  pthread_mutex_unlock(&b->mutex);
  const bool failed =
      b->comm->sum(b->comm->context, b->queue[place].data, b->queue[place].count) != 0;
  pthread_mutex_lock(&b->mutex);
  b->failed = b->failed || failed;
  b->done++;
  pthread_cond_broadcast(&b->changed);
}

static void *serve(void *argument)
{
  mo_background *b = argument;
  pthread_mutex_lock(&b->mutex);
  while (!b->ending) {
    if (b->done < b->submitted)
      sum_next(b);
    else
      pthread_cond_wait(&b->changed, &b->mutex);
  }
  pthread_mutex_unlock(&b->mutex);
  return NULL;
}

bool mo_background_start(mo_background *b, const mousse_comm *comm)
{
  *b = (mo_background){.comm = comm};
  if (pthread_mutex_init(&b->mutex, NULL) != 0) return false;
  const bool have_condition = pthread_cond_init(&b->changed, NULL) == 0;
  b->running = have_condition && pthread_create(&b->thread, NULL, serve, b) == 0;
  if (!b->running && have_condition) pthread_cond_destroy(&b->changed);
  if (!b->running) pthread_mutex_destroy(&b->mutex);
  return b->running;
}

void mo_background_stop(mo_background *b)
{
  if (!b->running) return;
  pthread_mutex_lock(&b->mutex);
  b->ending = true;
  pthread_cond_broadcast(&b->changed);
  pthread_mutex_unlock(&b->mutex);
  pthread_join(b->thread, NULL);
  pthread_cond_destroy(&b->changed);
  pthread_mutex_destroy(&b->mutex);
  b->running = false;
}

void mo_background_submit(mo_background *b, float *data, size_t count)
{
  pthread_mutex_lock(&b->mutex);
  while (b->submitted - b->done == MO_BACKGROUND_PLACES)
    pthread_cond_wait(&b->changed, &b->mutex);
  const size_t place = b->submitted++ % MO_BACKGROUND_PLACES;
  b->queue[place].data = data;
  b->queue[place].count = count;
  pthread_cond_broadcast(&b->changed);
  pthread_mutex_unlock(&b->mutex);
}

mousse_status mo_background_wait(mo_background *b, mo_error *error)
{
  pthread_mutex_lock(&b->mutex);
  while (b->done < b->submitted) pthread_cond_wait(&b->changed, &b->mutex);
  const bool failed = b->failed;
  pthread_mutex_unlock(&b->mutex);
  if (!failed) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_COMM, "could not add up gradients with the other ranks");
}
