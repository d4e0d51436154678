/* run_options.c - configuration files, and the optimizers' options from the library's tables.
 */
#include "cli/run_options.h"

#include "base/file.h"
#include "train/checkpoint.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void print_notice(void *user, const char *text)
{
  (void)user;
  fprintf(stderr, "mousse: note: %s\n", text);
}

const run_notices run_notices_print = {print_notice, NULL}, run_notices_none = {NULL, NULL};

/* The config.yaml of a run that can be continued; "" when there is none. */
static mousse_status find_own_config(const train_options *run, char *path, size_t capacity,
                                     mo_error *error)
{
  char directory[4096], root[4096];
  checkpoint_list list;
  MO_TRY(options_directory(run, directory, sizeof directory, error));
  MO_TRY(mo_path_join(root, sizeof root, directory, CHECKPOINT_FOLDER, error));
  MO_TRY(mo_path_join(path, capacity, directory, "config.yaml", error));
  MO_TRY(checkpoint_list_open(&list, root, error));
  if (list.count == 0 || access(path, F_OK) != 0) path[0] = '\0';
  checkpoint_list_close(&list);
  return MOUSSE_OK;
}

mousse_status run_options_configure(void *values, const void *flags, bool quiet,
                                    mo_error *error)
{
  run_values *v = values;
  const run_values *given = flags;
  const run_notices *notices = quiet ? &run_notices_none : &run_notices_print;
  char path[4096];
  if (given->config[0] != '\0') return options_read(&v->run, given->config, notices, error);
  MO_TRY(find_own_config(&given->run, path, sizeof path, error));
  if (path[0] == '\0') return MOUSSE_OK;
  MO_TRY(options_read(&v->run, path, notices, error));
  v->run.out[0] = '\0'; /* as named now: the directory may have been moved */
  v->run.checkpoint_dir[0] = '\0';
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

static void print_option(const mousse_option *option)
{
  printf("    %-18s%s (default ", option->name, option->help);
  if (option->choices == NULL) {
    printf("%g; %g to %g)\n", option->initial, option->min, option->max);
    return;
  }
  printf("%s; one of", option->choices[(int)option->initial]);
  for (size_t i = 0; option->choices[i] != NULL; i++)
    printf("%s %s", i > 0 ? "," : "", option->choices[i]);
  printf(")\n");
}

void run_options_help(void)
{
  const char *name = NULL;
  printf("\nPresets:");
  for (size_t i = 0; (name = gpt_preset_name(i)) != NULL; i++)
    printf("%s %s", i > 0 ? "," : "", name);
  printf("\n");
  printf(
      "\nOptions of the optimizers, as --opt.NAME VALUE for that of the hidden matrices and\n"
      "--scalar.NAME VALUE for that of embedding and head:\n");
  for (size_t i = 0; (name = mousse_algorithm_name(i)) != NULL; i++) {
    const mousse_option *option = NULL;
    printf("\n  %s: %s\n", name, mousse_algorithm_help(name));
    for (size_t k = 0; (option = mousse_algorithm_option(name, k)) != NULL; k++)
      print_option(option);
  }
}
