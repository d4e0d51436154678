/* watch_model.h - all runs below a directory, as they are now.
 *
 * One thread calls watch_model_refresh now and then; others look at the runs between
 * watch_model_lock and watch_model_unlock. The version grows with every change and every run
 * remembers the version of its own last one: that is how a client learns what is new.
 */
#ifndef MOUSSE_WATCH_WATCH_MODEL_H
#define MOUSSE_WATCH_WATCH_MODEL_H

#include "watch/watched_run.h"

#include <pthread.h>

typedef struct watch_model {
  char directory[MO_SETTING_PATH]; /* absolute, without links */
  int root;
  pthread_mutex_t lock;
  watched_run **runs; /* owned, by path */
  size_t count, capacity;
  uint64_t version;
  uint64_t list_version; /* when a run came or went */
  double walked;         /* seconds: when the tree was looked at last */
  lock_list locks;
} watch_model;

/* Nothing is read yet. A directory without runs is fine: they may come. */
mousse_status watch_model_open(watch_model *model, const char *directory, mo_error *error);
void watch_model_close(watch_model *model);

/* Reads what is new, some 16 MB at a time, and lets others look in between; looks for new runs
 * every two seconds. True: something changed. */
bool watch_model_refresh(watch_model *model);

void watch_model_lock(watch_model *model);
void watch_model_unlock(watch_model *model);

/* By its path; NULL: no such run. The lock is held. */
watched_run *watch_model_find(const watch_model *model, const char *path);

/* The name of a run as people call it: the last part of its path. */
const char *watch_model_name(const watch_model *model, const watched_run *run);

#endif
