/* watch_model.c - the runs below a directory, read as they grow. */
#include "watch/watch_model.h"

#include "base/clock.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_AT_A_TIME = 16 << 20 };
static const double walk_seconds = 2;

mousse_status watch_model_open(watch_model *m, const char *directory, mo_error *error)
{
  char path[PATH_MAX];
  *m = (watch_model){.root = -1, .walked = -1e9};
  if (realpath(directory, path) == NULL)
    return mo_fail(error, MOUSSE_IO, "%.300s: %s", directory, strerror(errno));
  if (strlen(path) >= sizeof m->directory)
    return mo_fail(error, MOUSSE_IO, "%.300s: path is too long", directory);
  memcpy(m->directory, path, strlen(path) + 1);
  m->root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (m->root < 0)
    return mo_fail(error, MOUSSE_IO, "%.300s: cannot look into it: %s", directory,
                   strerror(errno));
  pthread_mutex_init(&m->lock, NULL);
  return MOUSSE_OK;
}

static void drop(watch_model *m, size_t index)
{
  watched_run_close(m->runs[index]);
  mo_release(NULL, m->runs[index], sizeof **m->runs);
  memmove(m->runs + index, m->runs + index + 1, (m->count - index - 1) * sizeof *m->runs);
  m->count--;
}

void watch_model_close(watch_model *m)
{
  while (m->count > 0) drop(m, m->count - 1);
  mo_release(NULL, m->runs, m->capacity * sizeof *m->runs);
  if (m->root >= 0) {
    close(m->root);
    pthread_mutex_destroy(&m->lock);
  }
  *m = (watch_model){.root = -1};
}

/* Where a path is among the runs, or would be. */
static size_t index_of(const watch_model *m, const char *path)
{
  size_t low = 0, high = m->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (strcmp(m->runs[middle]->path, path) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

watched_run *watch_model_find(const watch_model *m, const char *path)
{
  const size_t index = index_of(m, path);
  return index < m->count && strcmp(m->runs[index]->path, path) == 0 ? m->runs[index] : NULL;
}

const char *watch_model_name(const watch_model *m, const watched_run *run)
{
  return strcmp(run->path, ".") == 0 ? mo_path_name(m->directory) : mo_path_name(run->path);
}

static void insert(watch_model *m, size_t index, const char *path)
{
  if (!mo_grow(NULL, &m->runs, &m->capacity, m->count + 1, sizeof *m->runs)) return;
  watched_run *run = mo_allocate(NULL, sizeof *run);
  if (run == NULL) return;
  if (!watched_run_open(run, path)) {
    watched_run_close(run);
    mo_release(NULL, run, sizeof *run);
    return;
  }
  memmove(m->runs + index + 1, m->runs + index, (m->count - index) * sizeof *m->runs);
  m->runs[index] = run;
  m->count++;
  strncpy(run->record.name, watch_model_name(m, run), sizeof run->record.name - 1);
  m->list_version = ++m->version;
}

static void met(void *user, const char *path)
{
  watch_model *m = user;
  const size_t index = index_of(m, path);
  if (index < m->count && strcmp(m->runs[index]->path, path) == 0)
    m->runs[index]->present = true;
  else
    insert(m, index, path);
}

static bool is_gone(const watch_model *m, const watched_run *run)
{
  const int directory = place_directory(m->root, run->path);
  if (directory < 0) return place_is_absent(errno);
  close(directory);
  return false;
}

/* Runs that are new, and those that are gone. A run that was not met because something failed may
 * still be there. */
static void walk(watch_model *m)
{
  for (size_t i = 0; i < m->count; i++) m->runs[i]->present = false;
  const bool saw_all = run_tree_walk(m->root, met, m);
  for (size_t i = m->count; i > 0; i--) {
    if (m->runs[i - 1]->present || (!saw_all && !is_gone(m, m->runs[i - 1]))) continue;
    drop(m, i - 1);
    m->list_version = ++m->version;
  }
}

/* One run further; true: there is more of it. */
static bool read_run(watch_model *m, watched_run *run)
{
  bool more = false;
  if (watched_run_read(run, m->root, &m->locks, MOST_AT_A_TIME, &more))
    run->version = ++m->version;
  return more;
}

static bool read_index(watch_model *m, size_t index)
{
  watch_model_lock(m);
  const bool more = index < m->count && read_run(m, m->runs[index]);
  watch_model_unlock(m);
  return more;
}

bool watch_model_refresh(watch_model *m)
{
  const uint64_t before = m->version;
  watch_model_lock(m);
  lock_list_read(&m->locks);
  if (mo_seconds() - m->walked >= walk_seconds) {
    walk(m);
    m->walked = mo_seconds();
  }
  watch_model_unlock(m);
  for (size_t i = 0; i < m->count; i++)
    while (read_index(m, i)) continue;
  return m->version != before;
}

void watch_model_lock(watch_model *m)
{
  pthread_mutex_lock(&m->lock);
}

void watch_model_unlock(watch_model *m)
{
  pthread_mutex_unlock(&m->lock);
}
