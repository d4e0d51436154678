/* study.c - takes a list of runs to their ends, several at a time. */
#include "base/file.h"
#include "base/parallel.h"
#include "study/run_child.h"
#include "support/run_lock.h"
#include "support/signals.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

int study_jobs(const train_options *run)
{
  const int threads = run->threads > 0 ? (int)run->threads : 1;
  return mo_threads_available() > threads ? mo_threads_available() / threads : 1;
}

static void pause_a_little(void)
{
  const struct timespec tenth = {.tv_nsec = 100000000};
  nanosleep(&tenth, NULL);
}

/* Those that were begun first: the sooner they end, the sooner they can be compared. */
static study_run *next_waiting(study_runs *runs)
{
  study_run *waiting = NULL;
  for (size_t i = runs->count; i-- > 0;) {
    study_run *r = &runs->runs[i];
    const bool begun = waiting != NULL && waiting->state == STUDY_STOPPED;
    if (r->state == STUDY_STOPPED || (r->state == STUDY_WAITING && !begun)) waiting = r;
  }
  return waiting;
}

static mousse_status start_more(study_runs *runs, const study_execution *how, mo_error *error)
{
  const int threads = (mo_threads_available() + how->jobs - 1) / how->jobs;
  while (study_count(runs, STUDY_RUNNING) < (size_t)how->jobs) {
    study_run *run = next_waiting(runs);
    if (run == NULL) break;
    if (run->run.threads == 0) run->run.threads = threads;
    run->rule.any_loss = !how->stop_diverged;
    MO_TRY(run_child_start(run, how->program, error));
  }
  return MOUSSE_OK;
}

static mousse_status attend_all(study_runs *runs, const study_execution *how, mo_error *error)
{
  for (size_t i = 0; i < runs->count; i++)
    if (runs->runs[i].state == STUDY_RUNNING)
      MO_TRY(run_child_attend(&runs->runs[i], how->stop_diverged, error));
  return MOUSSE_OK;
}

/* Lets every child finish its step and save. */
static void end_all(study_runs *runs, const study_execution *how)
{
  mo_error ignored;
  for (size_t i = 0; i < runs->count; i++) {
    study_run *r = &runs->runs[i];
    if (r->state != STUDY_RUNNING) continue;
    r->asked_to_stop = true;
    kill(r->child, SIGTERM);
  }
  while (study_count(runs, STUDY_RUNNING) > 0) {
    if (attend_all(runs, how, &ignored) != MOUSSE_OK) break;
    pause_a_little();
  }
}

/* Those that this process has no more to do with, failed ones as well. */
static size_t count_done(const study_runs *runs)
{
  return runs->count - study_count(runs, STUDY_WAITING) - study_count(runs, STUDY_STOPPED) -
         study_count(runs, STUDY_RUNNING);
}

/* Of ends: how many were told, those before this process as well, and whether that is to be repeated. */
typedef struct told_ends {
  size_t done;
  bool again;
} told_ends;

/* Runs that come of it are looked at as those before them were, and may have ended, too. */
static mousse_status tell_of_ends(study_runs *runs, const study_execution *how, told_ends *told,
                                  mo_error *error)
{
  bool due = how->ended != NULL && (told->again || count_done(runs) != told->done);
  while (due) {
    *told = (told_ends){.done = count_done(runs)};
    MO_TRY(how->ended(how->source, runs, &told->again, error));
    MO_TRY(study_look(runs, error));
    due = count_done(runs) != told->done;
  }
  return MOUSSE_OK;
}

/* Runs are started last: what ended may have led to some that were begun already. */
static mousse_status execute(study_runs *runs, const study_execution *how, int *stopped,
                             mo_error *error)
{
  mousse_status status = MOUSSE_OK;
  told_ends told = {.done = 0};
  while (status == MOUSSE_OK && (*stopped = signals_stop()) == 0) {
    status = attend_all(runs, how, error);
    if (status == MOUSSE_OK) status = tell_of_ends(runs, how, &told, error);
    if (status == MOUSSE_OK) status = start_more(runs, how, error);
    if (how->watch != NULL) how->watch(how->user, runs);
    if (study_count(runs, STUDY_RUNNING) == 0 && next_waiting(runs) == NULL) break;
    pause_a_little();
  }
  end_all(runs, how);
  return status;
}

mousse_status study_execute(study_runs *runs, const study_execution *how, int *stopped,
                            mo_error *error)
{
  run_lock lock;
  /* Each child has its own threads; BLAS need not start more of them. */
  setenv("OPENBLAS_NUM_THREADS", "1", 0);
  MO_TRY(mo_make_directories(runs->directory, error));
  MO_TRY(run_lock_take(&lock, runs->directory, error));
  mousse_status status = study_look(runs, error);
  if (status == MOUSSE_OK) {
    signals_watch();
    status = execute(runs, how, stopped, error);
    signals_ignore();
  }
  run_lock_release(&lock);
  return status;
}
