/* run_out.c - compares the run that is asked for with those that are there. */
#include "train/run_out.h"

#include "base/file.h"
#include "support/run_directory.h"
#include "train/resolve.h"
#include "train/run_model.h"

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

static bool same_rows(const train_options *a, const train_options *b,
                      const train_options *given)
{
  for (size_t i = 0; i < train_settings.count; i++) {
    char x[MO_SETTING_PATH], y[MO_SETTING_PATH];
    const mo_setting *row = &train_settings.rows[i];
    if (option_row_effect(i) == OPTION_FREE || is_chosen(row, given)) continue;
    if (!mo_setting_text(row, a, x, sizeof x) || !mo_setting_text(row, b, y, sizeof y) ||
        strcmp(x, y) != 0)
      return false;
  }
  return true;
}

static mousse_status resolve(train_options *run, mo_error *error)
{
  gpt_config config;
  MO_TRY(options_check(run, error));
  MO_TRY(run_model_find(run, NULL, NULL, &config, error));
  return options_resolve(run, &config, error);
}

/* Whether the directory holds this run; what cannot be read is another one. */
static bool holds(const char *directory, const train_options *resolved,
                  const train_options *given, train_options *there)
{
  char path[4096];
  return mo_path_join(path, sizeof path, directory, "config.yaml", NULL) == MOUSSE_OK &&
         access(path, F_OK) == 0 && options_defaults(there, NULL) == MOUSSE_OK &&
         options_read(there, path, NULL, NULL) == MOUSSE_OK &&
         resolve(there, NULL) == MOUSSE_OK && same_rows(resolved, there, given) &&
         options_same_list(resolved, there);
}

static mousse_status search_out(train_options *run, train_options *resolved,
                                train_options *there, mo_error *error)
{
  *resolved = *run;
  MO_TRY(resolve(resolved, error));
  for (int number = 1; number <= MOST_RUNS; number++) {
    char path[128];
    int length = snprintf(path, sizeof path, "runs/%s-%s", run->optimizer, run->preset);
    if (number > 1) snprintf(path + length, sizeof path - (size_t)length, "-%d", number);
    if (!run_directory_is_free(path) && !holds(path, resolved, run, there)) continue;
    memcpy(run->out, path, strlen(path) + 1);
    return MOUSSE_OK;
  }
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "runs: too many of them; give --out");
}

mousse_status run_out_choose(train_options *run, mo_error *error)
{
  if (run->out[0] != '\0' || run->checkpoint_dir[0] != '\0') return MOUSSE_OK;
  const size_t bytes = 2 * sizeof *run;
  train_options *space = mo_allocate(NULL, bytes);
  if (space == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory to compare runs");
  const mousse_status status = search_out(run, &space[0], &space[1], error);
  mo_release(NULL, space, bytes);
  return status;
}
