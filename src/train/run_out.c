/* run_out.c - compares the run that is asked for with those that are there. */
#include "train/run_out.h"

#include "base/file.h"
#include "support/run_directory.h"
#include "train/resolve.h"
#include "train/run_model.h"
#include "train/run_paths.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_RUNS = 100000 };

/* Chosen with the number of ranks in mind, and no reason to call it another run. */
static bool is_chosen(const mo_setting *row, const train_options *given)
{
  return (strcmp(row->name, "slices") == 0 && given->slices == 0) ||
         (strcmp(row->name, "device_batch_size") == 0 && given->device_batch_size == 0);
}

/* How a run that is there compares with the one that is asked for. */
typedef enum likeness {
  RUN_OTHER, /* differs in something that was asked for, or cannot be read */
  RUN_ALIKE, /* differs where nothing was: by an earlier command, or by laws that were others */
  RUN_SAME
} likeness;

typedef struct out_search {
  train_options given, defaults, resolved;
  train_options there;           /* the run that is looked at, */
  char difference[128];          /* and the last of its differences, in words */
  char alike[128], because[128]; /* the first run that is alike, and its difference; "": none */
} out_search;

static void note_difference(out_search *s, const char *key, const char *before, const char *now)
{
  snprintf(s->difference, sizeof s->difference, "%s was '%.32s' and is now '%.32s'", key,
           before, now);
}

static likeness compare_rows(out_search *s)
{
  likeness result = RUN_SAME;
  for (size_t i = 0; i < train_settings.count; i++) {
    char now[MO_SETTING_PATH], before[MO_SETTING_PATH], given[MO_SETTING_PATH],
        initial[MO_SETTING_PATH];
    const mo_setting *row = &train_settings.rows[i];
    if (option_row_effect(i) == OPTION_FREE || is_chosen(row, &s->given)) continue;
    if (!mo_setting_text(row, &s->resolved, now, sizeof now) ||
        !mo_setting_text(row, &s->there, before, sizeof before) ||
        !mo_setting_text(row, &s->given, given, sizeof given) ||
        !mo_setting_text(row, &s->defaults, initial, sizeof initial))
      return RUN_OTHER;
    if (run_paths_same_option(row->name, before, now)) continue;
    if (strcmp(given, initial) != 0) return RUN_OTHER;
    note_difference(s, row->name, before, now);
    result = RUN_ALIKE;
  }
  return result;
}

static const train_option *find_option(const train_options *run, const train_option *like)
{
  for (size_t i = 0; i < run->option_count; i++)
    if (run->options[i].scalar == like->scalar && strcmp(run->options[i].name, like->name) == 0)
      return &run->options[i];
  return NULL;
}

static likeness compare_lists(out_search *s)
{
  if (options_same_list(&s->resolved, &s->there)) return RUN_SAME;
  for (size_t i = 0; i < s->resolved.option_count; i++) {
    const train_option *now = &s->resolved.options[i], *before = find_option(&s->there, now);
    if (before != NULL && strcmp(before->value, now->value) == 0) continue;
    if (find_option(&s->given, now) != NULL) return RUN_OTHER;
    note_difference(s, now->name, before != NULL ? before->value : "", now->value);
  }
  return RUN_ALIKE;
}

static mousse_status resolve(train_options *run, mo_error *error)
{
  gpt_config config;
  MO_TRY(options_check(run, error));
  MO_TRY(run_model_find(run, NULL, NULL, &config, error));
  return options_resolve(run, &config, error);
}

/* Reads the run in a directory and compares it with this one. */
static likeness compare(out_search *s, const char *directory)
{
  char path[4096];
  s->difference[0] = '\0';
  if (mo_path_join(path, sizeof path, directory, "config.yaml", NULL) != MOUSSE_OK ||
      access(path, F_OK) != 0 || options_defaults(&s->there, NULL) != MOUSSE_OK ||
      options_read(&s->there, path, NULL, NULL) != MOUSSE_OK)
    return RUN_OTHER;
  run_paths_from_here(&s->there, directory);
  if (resolve(&s->there, NULL) != MOUSSE_OK) return RUN_OTHER;
  const likeness rows = compare_rows(s), lists = compare_lists(s);
  return rows < lists ? rows : lists;
}

/* A new run may be a surprise where the same command once made one that is nearly this one. */
static void tell_alike(const out_search *s, const run_notices *notices)
{
  if (s->alike[0] != '\0')
    run_notify(notices,
               "a new run, since %s; 'mousse train --out %s' continues the earlier one",
               s->because, s->alike);
}

static mousse_status search_out(out_search *s, train_options *run, const run_notices *notices,
                                mo_error *error)
{
  s->given = s->resolved = *run;
  MO_TRY(options_defaults(&s->defaults, error));
  MO_TRY(resolve(&s->resolved, error));
  for (int number = 1; number <= MOST_RUNS; number++) {
    char path[128];
    int length = snprintf(path, sizeof path, "runs/%s-%s", run->optimizer, run->preset);
    if (number > 1) snprintf(path + length, sizeof path - (size_t)length, "-%d", number);
    const bool is_free = run_directory_is_free(path);
    const likeness found = is_free ? RUN_SAME : compare(s, path);
    if (found == RUN_ALIKE && s->alike[0] == '\0') {
      memcpy(s->alike, path, strlen(path) + 1);
      memcpy(s->because, s->difference, sizeof s->because);
    }
    if (found != RUN_SAME) continue;
    if (is_free) tell_alike(s, notices);
    memcpy(run->out, path, strlen(path) + 1);
    return MOUSSE_OK;
  }
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "runs: too many of them; give --out");
}

mousse_status run_out_choose(train_options *run, const run_notices *notices, mo_error *error)
{
  if (run->out[0] != '\0' || run->checkpoint_dir[0] != '\0') return MOUSSE_OK;
  out_search *search = mo_allocate(NULL, sizeof *search);
  if (search == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory to compare runs");
  const mousse_status status = search_out(search, run, notices, error);
  mo_release(NULL, search, sizeof *search);
  return status;
}
