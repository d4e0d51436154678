/* cmd_help.c - mousse help: the program's help, one command's, a topic, or the manual page. */
#include "cli/command.h"
#include "cli/help.h"

#include <string.h>

typedef struct help_values {
  bool man;
} help_values;

static const mo_setting rows[] = {
    MO_SETTING_SWITCH(help_values, man, "false", "write the manual page mousse(1) instead"),
};

static mousse_status explain(const cli_invocation *call, mo_error *error)
{
  const char *what = call->arguments[0];
  const bool optimizers = strcmp(what, "optimizers") == 0 || strcmp(what, "optimizer") == 0;
  if (optimizers)
    return help_optimizers(call->argument_count > 1 ? call->arguments[1] : NULL, error);
  if (call->argument_count > 1)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "'%.80s' is one word too many; only 'mousse help optimizers NAME' has two",
                   call->arguments[1]);
  if (strcmp(what, "presets") == 0 || strcmp(what, "preset") == 0) return help_presets(error);
  const cli_command *command = command_find(what);
  if (command == NULL) return command_unknown(what, error);
  help_command(command);
  return MOUSSE_OK;
}

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  const help_values *v = call->values;
  if (v->man)
    help_manual();
  else if (call->argument_count == 0)
    help_program();
  else
    return explain(call, error);
  return MOUSSE_OK;
}

const cli_command command_help = {
    .name = "help",
    .summary = "Explain the program, one command, the optimizers or the presets",
    .arguments = "[COMMAND | optimizers [NAME] | presets]",
    .details = "  mousse help train\n"
               "  mousse help optimizers soap\n",
    .settings = MO_SETTINGS(rows),
    .values_bytes = sizeof(help_values),
    .most_arguments = 2,
    .run = run,
};
