/* runs.c - the list of runs, and what is known of them from their directories. */
#include "study/runs.h"

#include "base/file.h"
#include "study/loss_watch.h"
#include "study/run_child.h"
#include "study/run_history.h"
#include "train/estimate.h"
#include "train/run_model.h"
#include "train/run_paths.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *study_state_name(study_state state)
{
  static const char *const names[] = {"waiting",  "stopped",  "running", "complete",
                                      "diverged", "hopeless", "failed"};
  return names[state];
}

bool study_run_ended(const study_run *r)
{
  return r->state == STUDY_COMPLETE || r->state == STUDY_DIVERGED || r->state == STUDY_HOPELESS;
}

double study_run_loss(const study_run *r)
{
  const bool all = r->course.step >= (uint64_t)r->run.num_iterations || r->run.patience > 0;
  const bool told = r->state == STUDY_COMPLETE && all && isfinite(r->course.val_loss);
  return told ? r->course.val_loss : INFINITY;
}

size_t study_count(const study_runs *runs, study_state state)
{
  size_t count = 0;
  for (size_t i = 0; i < runs->count; i++) count += runs->runs[i].state == state;
  return count;
}

/* Where a run is and how fast it goes may change; what it computes may not. */
static bool is_compared(const char *key)
{
  static const char *const free_keys[] = {"out", "threads", "checkpoint_freq", "keep_last",
                                          "resume"};
  for (size_t i = 0; i < sizeof free_keys / sizeof *free_keys; i++)
    if (strcmp(key, free_keys[i]) == 0) return false;
  return true;
}

/* Where two texts are told from: a little before they differ, if what comes first would fill the sentence. */
static size_t place_to_tell(const char *a, const char *b)
{
  enum { SHORT = 40, BEFORE = 20 };
  size_t place = 0;
  while (a[place] != '\0' && a[place] == b[place]) place++;
  if (place < SHORT) return 0;
  for (place -= BEFORE; (a[place] & 0xc0) == 0x80;) place--; /* no part of a character */
  return place;
}

static mousse_status tell_difference(const study_run *r, const char *option, const char *found,
                                     const char *wanted, mo_error *error)
{
  const size_t from = place_to_tell(found, wanted);
  const char *dots = from > 0 ? "..." : "";
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                 "%.200s was made with %s: %s%.60s, not %s%.60s; choose another directory, or "
                 "remove it",
                 r->directory, option, dots, found + from, dots, wanted + from);
}

static mousse_status compare_options(const study_run *r, const train_options *other,
                                     mo_error *error)
{
  for (size_t i = 0; i < train_settings.count; i++) {
    char wanted[MO_SETTING_PATH], found[MO_SETTING_PATH];
    const mo_setting *row = &train_settings.rows[i];
    if (!is_compared(row->name)) continue;
    if (!mo_setting_text(row, &r->run, wanted, sizeof wanted) ||
        !mo_setting_text(row, other, found, sizeof found) ||
        !run_paths_same_option(row->name, found, wanted))
      return tell_difference(r, row->name, found, wanted, error);
  }
  if (!options_same_list(&r->run, other))
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "%s was made with other opt. or scalar. options; choose another directory, "
                   "or remove it",
                   r->directory);
  return MOUSSE_OK;
}

/* All that can be wrong with a run but its data: told before the first is started. */
static mousse_status check_options(const train_options *run, mo_error *error)
{
  static const run_notices nowhere = {NULL, NULL};
  gpt_config config;
  train_estimate estimate;
  MO_TRY(options_check(run, error));
  MO_TRY(run_model_from(run, NULL, 0, &config, error));
  MO_TRY(estimate_open(&estimate, run, &config, 1, &nowhere, error));
  estimate_close(&estimate);
  return MOUSSE_OK;
}

mousse_status study_add(study_runs *runs, const char *name, const train_options *run,
                        size_t *index, mo_error *error)
{
  size_t at = 0;
  while (at < runs->count && strcmp(runs->runs[at].name, name) != 0) at++;
  if (index != NULL) *index = at;
  if (at < runs->count) return compare_options(&runs->runs[at], run, error);
  if (strlen(name) >= STUDY_NAME || strchr(name, '/') != NULL)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "'%s' cannot be the name of a run", name);
  if (!mo_grow(NULL, &runs->runs, &runs->capacity, at + 1, sizeof *runs->runs))
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for %zu runs", at + 1);
  study_run *r = &runs->runs[at];
  *r = (study_run){.run = *run};
  r->run.resume = true; /* one that was killed must go on, whatever the file says */
  r->rule.most_skipped = (uint64_t)run->max_skipped;
  memcpy(r->name, name, strlen(name) + 1);
  MO_TRY(mo_path_join(r->directory, sizeof r->directory, runs->directory, name, error));
  if (strlen(r->directory) >= sizeof r->run.out)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "%s: the path is too long", r->directory);
  memcpy(r->run.out, r->directory, strlen(r->directory) + 1);
  loss_watch_start(&r->course);
  MO_TRY(check_options(&r->run, error));
  runs->count = at + 1;
  return MOUSSE_OK;
}

void study_release(study_runs *runs)
{
  mo_release(NULL, runs->runs, runs->capacity * sizeof *runs->runs);
  *runs = (study_runs){.runs = NULL};
}

static mousse_status compare_data(study_data *data, const study_run *r, mo_error *error)
{
  run_history history;
  MO_TRY(run_history_read(&history, r->directory, error));
  const made_with made = {r->directory, r->run.data_dir, history.train, history.val};
  const mousse_status status = study_data_compare(
      data, &made, "put the data back, or choose another directory for runs on these", error);
  run_history_release(&history);
  return status;
}

static mousse_status look_at(study_data *data, study_run *r, mo_error *error)
{
  char path[MO_SETTING_PATH];
  MO_TRY(mo_path_join(path, sizeof path, r->directory, "run.yaml", error));
  if (access(path, F_OK) != 0) return MOUSSE_OK;
  static const run_notices nowhere = {NULL, NULL};
  train_options *made = mo_allocate(NULL, sizeof *made);
  if (made == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory to read it", path);
  mousse_status status = options_defaults(made, error);
  if (status == MOUSSE_OK) status = options_read(made, path, &nowhere, error);
  if (status == MOUSSE_OK) run_paths_from_here(made, r->directory);
  if (status == MOUSSE_OK) status = compare_options(r, made, error);
  if (status == MOUSSE_OK) status = compare_data(data, r, error);
  mo_release(NULL, made, sizeof *made);
  if (status == MOUSSE_OK) status = run_child_look(r, error);
  if (status != MOUSSE_OK) return status;
  /* One that nobody stopped is read to its end, whatever its losses were. */
  const bool stopped = r->state == STUDY_DIVERGED || r->state == STUDY_HOPELESS;
  const loss_rule none = {.most_skipped = UINT64_MAX, .any_loss = true};
  loss_watch_follow(&r->course, r->directory, stopped ? &r->rule : &none);
  if (r->state == STUDY_WAITING && r->course.step > 0) r->state = STUDY_STOPPED;
  return MOUSSE_OK;
}

/* As unpacking would leave it: in place of a run that has not ended here. */
static mousse_status look_in_archive(study_run *r, const study_runs *archived, mo_error *error)
{
  for (size_t i = 0; i < archived->count; i++) {
    const study_run *found = &archived->runs[i];
    if (strcmp(found->name, r->name) != 0 || !study_run_ended(found)) continue;
    MO_TRY(compare_options(r, &found->run, error));
    r->state = found->state;
    r->course = found->course;
    r->archived = true;
  }
  return MOUSSE_OK;
}

mousse_status study_look(study_runs *runs, mo_error *error)
{
  for (size_t i = 0; i < runs->count; i++) {
    study_run *r = &runs->runs[i];
    if (r->state != STUDY_WAITING) continue;
    MO_TRY(look_at(&runs->data, r, error));
    if (runs->archived != NULL && !study_run_ended(r))
      MO_TRY(look_in_archive(r, runs->archived, error));
  }
  return MOUSSE_OK;
}
