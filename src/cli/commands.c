/* commands.c - the table of commands, made from commands.def. */
#include "cli/command.h"

#include "base/text.h"

#include <string.h>

#define COMMAND(name) extern const cli_command command_##name;
#include "cli/commands.def"
#undef COMMAND

static const cli_command *const commands[] = {
#define COMMAND(name) &command_##name,
#include "cli/commands.def"
#undef COMMAND
};

static const mo_setting common_rows[] = {
    MO_SETTING_SWITCH(common_values, quiet, "false", "no progress and no notices"),
    MO_SETTING_SWITCH(common_values, help, "false", "show this help"),
};
const mo_settings common_settings = MO_SETTINGS(common_rows);

size_t command_count(void)
{
  return sizeof commands / sizeof *commands;
}

const cli_command *command_at(size_t index)
{
  return index < command_count() ? commands[index] : NULL;
}

const cli_command *command_find(const char *name)
{
  for (size_t i = 0; i < command_count(); i++)
    if (strcmp(commands[i]->name, name) == 0) return commands[i];
  return NULL;
}

mousse_status command_unknown(const char *name, mo_error *error)
{
  mo_suggestion suggestion = mo_suggest(name);
  for (size_t i = 0; i < command_count(); i++) mo_suggest_from(&suggestion, commands[i]->name);
  if (suggestion.best == NULL)
    return mo_fail(error, MOUSSE_UNKNOWN_NAME,
                   "there is no command '%s'; 'mousse --help' lists them", name);
  return mo_fail(error, MOUSSE_UNKNOWN_NAME, "there is no command '%s'; did you mean '%s'?",
                 name, suggestion.best);
}
