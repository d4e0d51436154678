/* run_options.c - configuration files, and the optimizers' options from the library's tables.
 */
#include "cli/run_options.h"

#include "base/file.h"
#include "base/text.h"
#include "cli/help.h"
#include "cli/terminal.h"
#include "train/checkpoint.h"
#include "train/run_paths.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void print_notice(void *user, const char *text)
{
  (void)user;
  terminal_note(text);
}

const run_notices run_notices_print = {print_notice, NULL}, run_notices_none = {NULL, NULL};

/* The config.yaml of a run that is named and can be continued; "" when there is none. */
static mousse_status find_own_config(const train_options *run, char *path, size_t capacity,
                                     mo_error *error)
{
  char directory[4096], root[4096];
  checkpoint_list list;
  path[0] = '\0';
  if (run->out[0] == '\0' && run->checkpoint_dir[0] == '\0') return MOUSSE_OK;
  MO_TRY(options_directory(run, directory, sizeof directory, error));
  MO_TRY(mo_path_join(root, sizeof root, directory, CHECKPOINT_FOLDER, error));
  MO_TRY(checkpoint_list_open(&list, root, error));
  const size_t count = list.count;
  checkpoint_list_close(&list);
  MO_TRY(mo_path_join(path, capacity, directory, "config.yaml", error));
  if (count == 0 || access(path, F_OK) != 0) path[0] = '\0';
  return MOUSSE_OK;
}

/* What a run that is there was told, its paths as they are named from here. */
static mousse_status read_own(train_options *own, const train_options *run, const char *path,
                              const run_notices *notices, mo_error *error)
{
  char directory[4096];
  MO_TRY(options_directory(run, directory, sizeof directory, error));
  MO_TRY(options_read(own, path, notices, error));
  run_paths_from_here(own, directory);
  return MOUSSE_OK;
}

/* Slices that were chosen for the run's batch need not fit the one that is given now; where they
 * do, training takes those of the checkpoint. */
static void drop_slices(run_values *v, const run_values *given)
{
  train_options batch = {.batch_size = given->run.batch_size,
                         .device_batch_size = given->run.device_batch_size};
  if (batch.device_batch_size == 0) batch.device_batch_size = v->run.device_batch_size;
  if (!options_slices_fit(&batch, v->run.slices)) v->run.slices = 0;
}

mousse_status run_options_written(mousse_status status)
{
  return status == MOUSSE_BAD_FORMAT ? MOUSSE_INVALID_ARGUMENT : status;
}

/* Weights are where a run begins; one that is there already has its own. */
static mousse_status check_init(const train_options *flags, const train_options *own,
                                mo_error *error)
{
  if (flags->init[0] == '\0' || run_paths_same_weights(own->init, flags->init))
    return MOUSSE_OK;
  return mo_fail(
      error, MOUSSE_INVALID_ARGUMENT,
      "%s: a run is there already, and did not begin with --init %s; leave --init out "
      "to continue it, or give another --out",
      flags->out[0] != '\0' ? flags->out : flags->checkpoint_dir, flags->init);
}

/* The same where a file says what is to be trained: of a run that is there, only its beginning is read. */
static mousse_status check_init_of_file(const run_values *v, const run_values *given,
                                        mo_error *error)
{
  char path[4096];
  train_options asked = v->run, own;
  const train_options *flags = &given->run;
  if (flags->init[0] != '\0') memcpy(asked.init, flags->init, sizeof asked.init);
  if (flags->out[0] != '\0') memcpy(asked.out, flags->out, sizeof asked.out);
  if (flags->checkpoint_dir[0] != '\0')
    memcpy(asked.checkpoint_dir, flags->checkpoint_dir, sizeof asked.checkpoint_dir);
  if (asked.init[0] == '\0') return MOUSSE_OK;
  MO_TRY(find_own_config(&asked, path, sizeof path, error));
  if (path[0] == '\0') return MOUSSE_OK;
  MO_TRY(options_defaults(&own, error));
  MO_TRY(read_own(&own, &asked, path, NULL, error));
  return check_init(&asked, &own, error);
}

mousse_status run_options_configure(void *values, const void *flags, bool quiet,
                                    mo_error *error)
{
  run_values *v = values;
  const run_values *given = flags;
  const run_notices *notices = quiet ? &run_notices_none : &run_notices_print;
  char path[4096];
  if (given->config[0] != '\0') {
    MO_TRY(run_options_written(options_read(&v->run, given->config, notices, error)));
    options_drop_given(&v->run, &given->run);
    return check_init_of_file(v, given, error);
  }
  MO_TRY(find_own_config(&given->run, path, sizeof path, error));
  if (path[0] == '\0') return MOUSSE_OK;
  MO_TRY(read_own(&v->run, &given->run, path, notices, error));
  options_drop_given(&v->run, &given->run);
  v->flags = given->run;
  v->continues = true;
  MO_TRY(check_init(&given->run, &v->run, error));
  v->run.resume = given->run.resume; /* which is asked of a command, and not of a run */
  v->run.out[0] = '\0';              /* as named now: the directory may have been moved */
  v->run.checkpoint_dir[0] = '\0';
  drop_slices(v, given);
  return MOUSSE_OK;
}

mousse_status run_options_take(void *values, const char *name, const char *text,
                               mo_error *error)
{
  run_values *v = values;
  if (strncmp(name, "opt.", 4) != 0 && strncmp(name, "scalar.", 7) != 0)
    return MOUSSE_UNKNOWN_NAME;
  return options_set(&v->run, name, text, NULL, error);
}

void run_options_help(void)
{
  char presets[256] = "", optimizers[512] = "", text[1024];
  const char *name = NULL;
  for (size_t i = 0; (name = gpt_preset_name(i)) != NULL; i++)
    mo_list_add(presets, sizeof presets, name);
  for (size_t i = 0; (name = mousse_algorithm_name(i)) != NULL; i++)
    mo_list_add(optimizers, sizeof optimizers, name);
  snprintf(text, sizeof text, "Presets: %s.", presets);
  printf("\n");
  help_paragraph(text);
  snprintf(
      text, sizeof text,
      "Optimizers: %s. Their own options, listed by 'mousse help optimizers NAME', are set "
      "as --opt.NAME VALUE for the hidden matrices and as --scalar.NAME VALUE for embedding "
      "and head.",
      optimizers);
  help_paragraph(text);
}
