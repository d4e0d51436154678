/* command.h - what a command of the program is.
 *
 * One file cmd_NAME.c defines one command; commands.def lists them. From the table below come
 * parsing, checking, `mousse NAME --help` and the manual page.
 */
#ifndef MOUSSE_CLI_COMMAND_H
#define MOUSSE_CLI_COMMAND_H

#include "base/settings.h"

/* Options that every command has. */
typedef struct common_values {
  bool help, quiet;
} common_values;

extern const mo_settings common_settings;

/* A parsed command line. */
typedef struct cli_invocation {
  const void *values;           /* the command's own struct, filled */
  const char *const *arguments; /* positional, borrowed from argv */
  size_t argument_count;
  bool quiet; /* no progress, no notices */
} cli_invocation;

enum { ANY_NUMBER_OF_ARGUMENTS = 1 << 20 };

typedef struct cli_command {
  const char *name, *summary;
  const char *arguments; /* how positional arguments are shown: "INPUT..."; "" for none */
  const char *details;   /* paragraphs and examples under the options in --help */
  mo_settings settings;
  const mo_settings *base; /* NULL, or a second table, of the struct that values begins with */
  size_t values_bytes;
  size_t least_arguments, most_arguments;
  mousse_status (*run)(const cli_invocation *call, mo_error *error);
  /* NULL, or fills values, which hold the defaults, from a file; flags are the defaults with
   * the command line, which then is applied once more: flags win over files. */
  mousse_status (*configure)(void *values, const void *flags, bool quiet, mo_error *error);
  /* NULL, or takes options that are in no table above; UNKNOWN_NAME: it is not one of them.
   * taken: NULL, or a table of some of them, for switches, help and completion. */
  const mo_settings *taken;
  mousse_status (*take)(void *values, const char *name, const char *text, mo_error *error);
  void (*more_help)(void); /* NULL, or prints a further part of --help */
} cli_command;

/* commands.c: the commands of commands.def, in that order. */
size_t command_count(void);
const cli_command *command_at(size_t index);
/* By its name, or one that other programs have for it; NULL: no such name. */
const cli_command *command_find(const char *name);
mousse_status command_unknown(const char *name, mo_error *error);

#endif
