/* arguments.c - a command line into a struct, checked against the command's table. */
#include "cli/arguments.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* Where an option is stored: in the command's own struct or in what all commands share. */
typedef struct target {
  const mo_setting *row;
  void *values;
} target;

static target find(const cli_command *command, void *values, common_values *common,
                   const char *name)
{
  const mo_setting *row = mo_settings_find(&command->settings, name);
  if (row == NULL && command->base != NULL) row = mo_settings_find(command->base, name);
  if (row != NULL) return (target){row, values};
  return (target){mo_settings_find(&common_settings, name), common};
}

/* An option that is in no table: the command's own business, or a mistake. */
static mousse_status take_other(const cli_command *command, const char *name, const char *text,
                                void *values, mo_error *error)
{
  const mo_settings *table = command->base != NULL ? command->base : &command->settings;
  if (command->take == NULL) return mo_settings_unknown(table, name, error);
  const mousse_status status =
      text != NULL ? command->take(values, name, text, error) : MOUSSE_UNKNOWN_NAME;
  return status == MOUSSE_UNKNOWN_NAME ? mo_settings_unknown(table, name, error) : status;
}

/* One option; *used becomes 2 when its value is the next word. */
static mousse_status take_option(const cli_command *command, char *const *words, size_t left,
                                 void *values, common_values *common, size_t *used,
                                 mo_error *error)
{
  char name[64];
  const char *text = strcmp(words[0], "-o") == 0 ? "out" : words[0] + 2;
  const char *equals = strchr(text, '=');
  const size_t length = equals != NULL ? (size_t)(equals - text) : strlen(text);
  if (length == 0 || length >= sizeof name)
    return mo_fail(error, MOUSSE_UNKNOWN_NAME, "there is no option '%.80s'", words[0]);
  memcpy(name, text, length);
  name[length] = '\0';
  *used = 1;

  target found = find(command, values, common, name);
  if (found.row == NULL && equals == NULL &&
      (strncmp(name, "no-", 3) == 0 || strncmp(name, "no_", 3) == 0)) {
    found = find(command, values, common, name + 3);
    if (found.row != NULL && found.row->type == MO_TYPE_SWITCH)
      return mo_setting_set(found.row, found.values, "false", error);
    found.row = NULL;
  }
  if (found.row == NULL && equals == NULL && left > 1) *used = 2;
  if (found.row == NULL)
    return take_other(command, name,
                      equals != NULL ? equals + 1
                      : left > 1     ? words[1]
                                     : NULL,
                      values, error);
  if (equals != NULL) return mo_setting_set(found.row, found.values, equals + 1, error);
  if (found.row->type == MO_TYPE_SWITCH)
    return mo_setting_set(found.row, found.values, "true", error);
  if (left < 2) {
    char allowed[256];
    mo_setting_allowed(found.row, allowed, sizeof allowed);
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "option '%s' needs a value: %s", name,
                   allowed);
  }
  *used = 2;
  return mo_setting_set(found.row, found.values, words[1], error);
}

static mousse_status check_count(const cli_command *command, size_t count, mo_error *error)
{
  if (count < command->least_arguments)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "%s needs %s; see 'mousse %s --help'",
                   command->name, command->arguments, command->name);
  if (count > command->most_arguments)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "%s takes at most %zu arguments, here are %zu; see 'mousse %s --help'",
                   command->name, command->most_arguments, count, command->name);
  return MOUSSE_OK;
}

static mousse_status set_defaults(const cli_command *command, void *values, mo_error *error)
{
  memset(values, 0, command->values_bytes);
  if (command->base != NULL) MO_TRY(mo_settings_defaults(command->base, values, error));
  return mo_settings_defaults(&command->settings, values, error);
}

static mousse_status apply(const cli_command *command, size_t count, char *const *words,
                           void *values, common_values *common, const char **arguments,
                           size_t *argument_count, mo_error *error)
{
  bool only_positional = false;
  *argument_count = 0;
  for (size_t i = 0, used = 1; i < count; i += used) {
    used = 1;
    if (only_positional || strncmp(words[i], "-", 1) != 0 || strcmp(words[i], "-") == 0)
      arguments[(*argument_count)++] = words[i];
    else if (strcmp(words[i], "--") == 0)
      only_positional = true;
    else if (strcmp(words[i], "-h") == 0)
      common->help = true;
    else if (strncmp(words[i], "--", 2) == 0 || strcmp(words[i], "-o") == 0)
      MO_TRY(take_option(command, words + i, count - i, values, common, &used, error));
    else
      return mo_fail(error, MOUSSE_UNKNOWN_NAME,
                     "there is no option '%.80s'; options start "
                     "with --",
                     words[i]);
  }
  return common->help ? MOUSSE_OK : check_count(command, *argument_count, error);
}

mousse_status arguments_parse(const cli_command *command, size_t count, char *const *words,
                              void *values, common_values *common, const char **arguments,
                              size_t *argument_count, mo_error *error)
{
  MO_TRY(set_defaults(command, values, error));
  MO_TRY(mo_settings_defaults(&common_settings, common, error));
  MO_TRY(apply(command, count, words, values, common, arguments, argument_count, error));
  if (command->configure == NULL || common->help) return MOUSSE_OK;
  void *flags = mo_allocate(NULL, command->values_bytes);
  if (flags == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for the options");
  memcpy(flags, values, command->values_bytes);
  mousse_status status = set_defaults(command, values, error);
  if (status == MOUSSE_OK) status = command->configure(values, flags, common->quiet, error);
  if (status == MOUSSE_OK)
    status = apply(command, count, words, values, common, arguments, argument_count, error);
  mo_release(NULL, flags, command->values_bytes);
  return status;
}
