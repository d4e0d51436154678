/* run_options.h - the command line of the commands that describe a training run: the options of
 * options.def, opt.NAME and scalar.NAME, and a configuration file. */
#ifndef MOUSSE_CLI_RUN_OPTIONS_H
#define MOUSSE_CLI_RUN_OPTIONS_H

#include "cli/command.h"
#include "train/options.h"

/* The first member of such a command's values. */
typedef struct run_values {
  train_options run;
  char config[MO_SETTING_PATH];
  train_options flags; /* the command line alone, where the rest is a run's own config.yaml */
  bool continues;      /* it is */
} run_values;

#define RUN_CONFIG_ROW                                                                         \
  {                                                                                            \
    .name = "config", .type = MO_TYPE_TEXT, .initial = "",                                     \
    .help = "YAML file with options of 'mousse train'; flags override it",                     \
    .offset = offsetof(run_values, config), .size = MO_SETTING_PATH                            \
  }

/* Notices to standard error. */
extern const run_notices run_notices_print, run_notices_none;

/* What reading a file that the user wrote came to: a mistake in it is one of usage (exit code 2),
 * not damage to a file of ours (3). */
mousse_status run_options_written(mousse_status status);

/* For cli_command.configure, .take and .more_help. Without --config, a run directory that has a
 * checkpoint gives its own config.yaml: 'mousse train --out DIR' continues. */
mousse_status run_options_configure(void *values, const void *flags, bool quiet,
                                    mo_error *error);
mousse_status run_options_take(void *values, const char *name, const char *text,
                               mo_error *error);
void run_options_help(void);

#endif
