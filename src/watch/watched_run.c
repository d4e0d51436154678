/* watched_run.c - one run: its files together, and what follows from them. */
#include "watch/watched_run.h"

#include "base/clock.h"
#include "base/file.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RECENT_SECONDS = 60, FORGET_SECONDS = 120 };

bool watched_run_open(watched_run *run, const char *path)
{
  *run = (watched_run){.present = true};
  snprintf(run->path, sizeof run->path, "%s", path);
  snprintf(run->record.name, sizeof run->record.name, "%.255s", mo_path_name(path));
  run->record.final_loss = run->record.final_bits = run->record.step_seconds = NAN;
  run->record.result = (run_result){.peak_bytes = NAN, .wall_seconds = NAN, .cpu_seconds = NAN};
  run->course = run_course_start();
  series_start(&run->steps, STEP_COLUMNS);
  series_start(&run->validations, VALIDATION_COLUMNS);
  run->options = json_object();
  run->checkpoints = json_array();
  run->happened = json_array();
  run->samples = json_array();
  return run->options != NULL && run->checkpoints != NULL && run->happened != NULL &&
         run->samples != NULL;
}

static void drop_curvature(watched_run *run)
{
  if (run->curvature == NULL) return;
  curvature_release(run->curvature);
  mo_release(NULL, run->curvature, sizeof *run->curvature);
  run->curvature = NULL;
}

void watched_run_close(watched_run *run)
{
  json_t *const owned[] = {run->options,  run->stretch, run->checkpoints,
                           run->happened, run->samples, run->started};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) json_decref(owned[i]);
  drop_curvature(run);
  series_release(&run->steps);
  series_release(&run->validations);
  run_record_release(&run->record);
  *run = (watched_run){0};
}

/* A run holds a lock on its file `lock`. Asking for that lock could keep a run from starting, so
 * it is looked up in the kernel's list. That has no locks of other machines, and those of btrfs
 * under another device: a run that started, and whose metrics grew in the last minute, counts as
 * running as well, unless a study has said how it ended. Where there is no list, so does one of
 * before there were events. */
static bool is_running(const watched_run *run, int directory, const lock_list *locks)
{
  struct stat file;
  const run_end end = run->record.end;
  if (fstatat(directory, "lock", &file, AT_SYMLINK_NOFOLLOW) != 0) return false;
  if (lock_list_has(locks, &file)) return true;
  if (run->record.result.status != RECORD_UNKNOWN) return false;
  if (end != RUN_END_OPEN && (locks->is_known || end != RUN_END_UNKNOWN)) return false;
  return fstatat(directory, "metrics.jsonl", &file, AT_SYMLINK_NOFOLLOW) == 0 &&
         time(NULL) - file.st_mtim.tv_sec < RECENT_SECONDS;
}

/* As run_record.c has it, by the course. */
static bool is_over(const watched_run *run)
{
  const train_options *o = &run->record.options;
  const run_course *c = &run->course;
  const watch_series *v = &run->validations;
  if (!run->has_options) return false;
  if (o->patience > 0 && c->without_best >= (uint64_t)o->patience) return true;
  return c->step >= (uint64_t)o->num_iterations &&
         (v->count == 0 || v->places[v->count - 1].last >= c->step);
}

static bool ends_with_validation(const watched_run *run)
{
  const train_options *o = &run->record.options;
  const run_course *c = &run->course;
  const watch_series *v = &run->validations;
  if (v->count == 0) return false;
  const uint64_t last = v->places[v->count - 1].last;
  return last >= c->step && (last >= (uint64_t)o->num_iterations ||
                             (o->patience > 0 && c->without_best >= (uint64_t)o->patience));
}

static void conclude(watched_run *run)
{
  run_record *r = &run->record;
  r->complete = run_record_is_complete(r, is_over(run) && !run->running);
  const bool outdated = r->complete && !ends_with_validation(run);
  r->final_loss = outdated ? NAN : run->course.last;
  r->final_bits = outdated ? NAN : run->course.last_bits;
}

bool watched_run_read(watched_run *run, int root, const lock_list *locks, size_t most,
                      bool *more)
{
  const int directory = place_directory(root, run->path);
  *more = false;
  if (run->curvature != NULL && mo_seconds() - run->curvature->asked > FORGET_SECONDS)
    drop_curvature(run);
  if (directory < 0) return false;
  const bool files = watched_files_read(run, directory);
  const bool course = watched_course_read(run, directory, most, more);
  const bool running = is_running(run, directory, locks), changed = running != run->running;
  close(directory);
  run->running = running;
  conclude(run);
  return files || course || changed;
}

curvature_map *watched_run_curvature(watched_run *run, int root, size_t most, bool *more)
{
  if (run->curvature == NULL) run->curvature = mo_allocate(NULL, sizeof *run->curvature);
  if (run->curvature == NULL) return NULL;
  run->curvature->asked = mo_seconds();
  const int directory = place_directory(root, run->path);
  *more = directory >= 0 && curvature_read(run->curvature, directory, most);
  if (directory >= 0) close(directory);
  return run->curvature;
}

const char *watched_run_state(const watched_run *run)
{
  if (run->running) return "running";
  const char *state = run_record_state(&run->record);
  return strcmp(state, "not finished") == 0 ? "stopped" : state;
}

double watched_run_rate(const watched_run *run)
{
  const run_course *c = &run->course;
  return c->step > 0 ? (double)c->tokens / (double)c->step / c->step_seconds : NAN;
}

double watched_run_left(const watched_run *run)
{
  const double steps = run->has_options ? (double)run->record.options.num_iterations : NAN;
  return run->running ? fmax(0, steps - (double)run->course.step) * run->course.step_seconds
                      : NAN;
}
