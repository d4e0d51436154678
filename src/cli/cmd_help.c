/* cmd_help.c - mousse help: the program's help, one command's, or the manual page. */
#include "cli/command.h"
#include "cli/help.h"

typedef struct values {
  bool man;
} values;

static const mo_setting rows[] = {
    MO_SETTING_SWITCH(values, man, "false", "write the manual page mousse(1) instead"),
};

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  const values *v = call->values;
  if (v->man) {
    help_manual();
  } else if (call->argument_count == 0) {
    help_program();
  } else {
    const cli_command *command = command_find(call->arguments[0]);
    if (command == NULL) return command_unknown(call->arguments[0], error);
    help_command(command);
  }
  return MOUSSE_OK;
}

const cli_command command_help = {
    .name = "help",
    .summary = "Explain the program or one command",
    .arguments = "[COMMAND]",
    .details = "",
    .settings = MO_SETTINGS(rows),
    .values_bytes = sizeof(values),
    .most_arguments = 1,
    .run = run,
};
