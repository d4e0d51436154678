/* run_archive_list.c - finished runs from a file, for a plan that writes nothing. */
#include "study/archive_reader.h"
#include "study/loss_watch.h"
#include "study/run_child.h"

#include <string.h>

static mousse_status add_run(void *user, archived_run *run, mo_error *error)
{
  study_runs *list = user;
  if (!mo_grow(NULL, &list->runs, &list->capacity, list->count + 1, sizeof *list->runs))
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for %zu runs", list->count + 1);
  study_run *r = &list->runs[list->count++];
  *r = (study_run){.run = run->options};
  memcpy(r->name, run->name, strlen(run->name) + 1);
  run_child_take(r, &run->result);
  loss_watch_start(&r->course);
  loss_watch_read(&r->course, run->metrics);
  r->course.step = run->result.steps; /* lines of before may lack the last */
  return MOUSSE_OK;
}

mousse_status run_archive_list(const archived_study *study, const char *path,
                               const run_notices *notices, study_runs *list, mo_error *error)
{
  return archive_read(study, path, notices, add_run, list, error);
}
