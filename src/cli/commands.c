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

/* Commands of other programs: the command here, or what to do instead. */
static const struct {
  const char *other, *name, *advice;
} others[] = {
    {"sample", "generate", NULL},
    {"infer", "generate", NULL},
    {"predict", "generate", NULL},
    {"repl", "chat", NULL},
    {"interactive", "chat", NULL},
    {"evaluate", "eval", NULL},
    {"encode", "tokenize", NULL},
    {"preprocess", "tokenize", NULL},
    {"decode", "text", NULL},
    {"benchmark", "bench", NULL},
    {"plot", "report", NULL},
    {"compare", "report", NULL},
    {"resume", NULL, "'mousse train --out RUN' continues a run"},
    {"continue", NULL, "'mousse train --out RUN' continues a run"},
    {"finetune", NULL, "'mousse train --init MODEL --data-dir DIR' trains a model further"},
    {"info", NULL,
     "'mousse data DIR' describes data, 'mousse checkpoint list RUN' a run, 'mousse params' a "
     "model"},
    {"export", NULL, "'mousse checkpoint export RUN --out DIR' writes a model for others"},
    {"optimizers", NULL, "'mousse help optimizers' lists them"},
    {"presets", NULL, "'mousse help presets' lists them"},
};

static const cli_command *find_exactly(const char *name)
{
  for (size_t i = 0; i < command_count(); i++)
    if (strcmp(commands[i]->name, name) == 0) return commands[i];
  return NULL;
}

const cli_command *command_find(const char *name)
{
  const cli_command *found = find_exactly(name);
  for (size_t i = 0; found == NULL && i < sizeof others / sizeof *others; i++)
    if (strcmp(others[i].other, name) == 0 && others[i].name != NULL)
      found = find_exactly(others[i].name);
  return found;
}

mousse_status command_unknown(const char *name, mo_error *error)
{
  mo_suggestion suggestion = mo_suggest(name);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strcmp(others[i].other, name) == 0 && others[i].advice != NULL)
      return mo_fail(error, MOUSSE_UNKNOWN_NAME, "there is no command '%s': %s", name,
                     others[i].advice);
  for (size_t i = 0; i < command_count(); i++) mo_suggest_from(&suggestion, commands[i]->name);
  if (suggestion.best == NULL)
    return mo_fail(error, MOUSSE_UNKNOWN_NAME,
                   "there is no command '%.80s'; 'mousse --help' lists them", name);
  return mo_fail(error, MOUSSE_UNKNOWN_NAME, "there is no command '%s'; did you mean '%s'?",
                 name, suggestion.best);
}
