/* arguments.c - a command line into a struct, checked against the command's table. */
#include "cli/arguments.h"

#include "base/memory.h"
#include "cli/help.h"
#include "cli/terminal.h"
#include "train/options.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { LONGEST_OPTION = 64, MOST_NOTES = 4 };

/* Other names for options of several commands; a command takes the first whose name it has.
 * Those of training runs are in train/options.c. */
static const mo_alias shared_aliases[] = {
    {"output", "out", NULL},
    {"out_dir", "out", NULL},
    {"output_dir", "out", NULL},
    {"model", "init", NULL},
    {"checkpoint", "init", NULL},
    {"ckpt", "init", NULL},
    {"run", "init", NULL},
    {"data", "data_dir", NULL},
    {"dataset", "data_dir", NULL},
    {"max_new_tokens", "tokens", NULL},
    {"max_tokens", "tokens", NULL},
    {"num_samples", "samples", NULL},
    {"temp", "temperature", NULL},
    {"num_threads", "threads", NULL},
    {"num_workers", "threads", NULL},
    {"verbose", NULL, "everything is shown unless --quiet is given"},
    {NULL, NULL, NULL},
};

/* A command line while it is read. */
typedef struct parser {
  const cli_command *command;
  void *values;
  common_values *common;
  const char **arguments;
  size_t argument_count;
  char notes[MOST_NOTES][3 * LONGEST_OPTION];
  size_t note_count;
} parser;

/* Where an option is stored: in the command's own struct or in what all commands share. */
typedef struct found_setting {
  const mo_setting *row;
  void *values;
} found_setting;

static const mo_setting *find_own(const cli_command *command, const char *name)
{
  const mo_setting *row = mo_settings_find(&command->settings, name);
  if (row == NULL && command->base != NULL) row = mo_settings_find(command->base, name);
  return row;
}

const mo_setting *arguments_find(const cli_command *command, const char *name)
{
  const mo_setting *row = find_own(command, name);
  for (const mo_alias *a = shared_aliases; row == NULL && a->other != NULL; a++)
    if (a->name != NULL && mo_same_name(a->other, name)) row = find_own(command, a->name);
  return row;
}

static found_setting find(const parser *p, const char *name)
{
  const mo_setting *row = arguments_find(p->command, name);
  if (row != NULL) return (found_setting){row, p->values};
  return (found_setting){mo_settings_find(&common_settings, name), p->common};
}

/* 'learning-rate' is understood, and its name here is told once. */
static void note_other_name(parser *p, const char *name, const mo_setting *row)
{
  if (mo_same_name(name, row->name) || p->note_count == MOST_NOTES) return;
  snprintf(p->notes[p->note_count++], sizeof *p->notes, "--%s is called --%s here", name,
           row->name);
  for (char *c = p->notes[p->note_count - 1]; *c != '\0'; c++)
    if (*c == '_') *c = '-';
}

static mousse_status unknown_option(const cli_command *command, const char *name,
                                    mo_error *error)
{
  const mo_settings *table = command->base != NULL    ? command->base
                             : command->taken != NULL ? command->taken
                                                      : &command->settings;
  for (const mo_alias *a = shared_aliases; a->other != NULL; a++)
    if (a->advice != NULL && mo_same_name(a->other, name))
      return mo_fail(error, MOUSSE_UNKNOWN_NAME, "there is no option '%s': %s", name,
                     a->advice);
  mo_settings_unknown(table, name, error);
  const size_t used = strlen(error->text);
  if (strchr(error->text, ';') == NULL)
    snprintf(error->text + used, sizeof error->text - used, "; see 'mousse %s --help'",
             command->name);
  return MOUSSE_UNKNOWN_NAME;
}

/* true,false: what follows a switch that a sweep varies. */
static bool is_switch_values(const char *word)
{
  for (; word[0] != '\0'; word += strspn(word, ",")) {
    const size_t length = strcspn(word, ",");
    if (!(length == 4 && strncasecmp(word, "true", 4) == 0) &&
        !(length == 5 && strncasecmp(word, "false", 5) == 0))
      return false;
    word += length;
  }
  return true;
}

/* Options that only the command understands: opt.NAME, and those that a sweep varies. next is
 * the word after the option, or NULL. */
static mousse_status take_other(parser *p, const char *name, const char *given,
                                const char *next, size_t *used, mo_error *error)
{
  const cli_command *command = p->command;
  const char *text = given, *typed = name;
  if (command->take == NULL) return unknown_option(command, name, error);
  const bool negative = strncmp(name, "no-", 3) == 0 || strncmp(name, "no_", 3) == 0;
  const mo_setting *row = command->taken != NULL
                              ? mo_settings_find(command->taken, name + (negative ? 3 : 0))
                              : NULL;
  const bool is_switch = row != NULL && row->type == MO_TYPE_SWITCH;
  if (text == NULL && is_switch && (negative || next == NULL || !is_switch_values(next))) {
    text = negative ? "false" : "true";
  } else if (text == NULL && next != NULL) {
    text = next;
    *used = 2;
  }
  if (row != NULL && !(negative && !is_switch)) {
    note_other_name(p, name + (negative ? 3 : 0), row);
    name = row->name;
  }
  const bool optimizers = strncmp(name, "opt.", 4) == 0 || strncmp(name, "scalar.", 7) == 0;
  if (command->taken != NULL && row == NULL && !optimizers)
    return unknown_option(command, name, error);
  if (text == NULL && (row != NULL || optimizers))
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "--%s needs a value", typed);
  const mousse_status status =
      text != NULL ? command->take(p->values, name, text, error) : MOUSSE_UNKNOWN_NAME;
  return status == MOUSSE_UNKNOWN_NAME ? unknown_option(command, name, error) : status;
}

static mousse_status set(parser *p, const char *name, found_setting found, const char *text,
                         mo_error *error)
{
  note_other_name(p, name, found.row);
  return mo_setting_set(found.row, found.values, text, error);
}

static mousse_status needs_value(const mo_setting *row, const char *name, mo_error *error)
{
  char allowed[256];
  if (row->type == MO_TYPE_TEXT)
    help_option_form(row, false, allowed, sizeof allowed); /* --out PATH */
  else
    mo_setting_allowed(row, allowed, sizeof allowed);
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "--%s needs a value: %s", name, allowed);
}

/* One option of the tables or of the command; *used becomes 2 when its value is the next word. */
static mousse_status take_named(parser *p, const char *name, const char *given,
                                const char *next, size_t *used, mo_error *error)
{
  const found_setting found = find(p, name);
  if (found.row == NULL && given == NULL &&
      (strncmp(name, "no-", 3) == 0 || strncmp(name, "no_", 3) == 0)) {
    const found_setting positive = find(p, name + 3);
    if (positive.row != NULL && positive.row->type == MO_TYPE_SWITCH)
      return set(p, name + 3, positive, "false", error);
  }
  if (found.row == NULL) return take_other(p, name, given, next, used, error);
  if (given != NULL) return set(p, name, found, given, error);
  if (found.row->type == MO_TYPE_SWITCH) {
    /* '--shuffle true' as in a file, where no argument could be meant. */
    if (p->command->most_arguments == 0 && next != NULL && is_switch_values(next)) {
      *used = 2;
      return set(p, name, found, next, error);
    }
    return set(p, name, found, "true", error);
  }
  if (next == NULL) return needs_value(found.row, name, error);
  *used = 2;
  return set(p, name, found, next, error);
}

static mousse_status take_option(parser *p, char *const *words, size_t left, size_t *used,
                                 mo_error *error)
{
  char name[LONGEST_OPTION];
  const char *text = strncmp(words[0], "-o", 2) == 0 ? "out" : words[0] + 2;
  const char *equals = strchr(text, '=');
  const size_t length = equals != NULL ? (size_t)(equals - text) : strlen(text);
  if (length == 0 || length >= sizeof name)
    return mo_fail(error, MOUSSE_UNKNOWN_NAME, "there is no option '%.80s'", words[0]);
  memcpy(name, text, length);
  name[length] = '\0';
  *used = 1;
  return take_named(p, name, equals != NULL ? equals + 1 : NULL, left > 1 ? words[1] : NULL,
                    used, error);
}

/* The option that an argument was probably meant for. */
static const char *meant_option(const cli_command *command)
{
  if (command->base == &train_settings) return "data-dir";
  return find_own(command, "init") != NULL ? "init" : NULL;
}

static mousse_status check_count(const parser *p, mo_error *error)
{
  const cli_command *command = p->command;
  const char *meant = meant_option(command);
  if (p->argument_count < command->least_arguments)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "%s needs %s; see 'mousse %s --help'",
                   command->name, command->arguments, command->name);
  if (p->argument_count <= command->most_arguments) return MOUSSE_OK;
  const char *extra = p->arguments[command->most_arguments];
  if (command->most_arguments == 0 && meant != NULL)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "%s takes no arguments, but '%.100s' is one; did you mean --%s %.100s?",
                   command->name, extra, meant, extra);
  return mo_fail(
      error, MOUSSE_INVALID_ARGUMENT,
      "%s takes %s%.0zu argument%s, but '%.100s' is one too many; see 'mousse %s --help'",
      command->name, command->most_arguments == 0 ? "no" : "at most ", command->most_arguments,
      command->most_arguments == 1 ? "" : "s", extra, command->name);
}

static mousse_status set_defaults(const cli_command *command, void *values, mo_error *error)
{
  memset(values, 0, command->values_bytes);
  if (command->base != NULL) MO_TRY(mo_settings_defaults(command->base, values, error));
  return mo_settings_defaults(&command->settings, values, error);
}

static mousse_status apply(parser *p, size_t count, char *const *words, mo_error *error)
{
  bool only_positional = false;
  p->argument_count = p->note_count = 0;
  for (size_t i = 0, used = 1; i < count; i += used) {
    used = 1;
    if (only_positional || words[i][0] != '-' || strcmp(words[i], "-") == 0)
      p->arguments[p->argument_count++] = words[i];
    else if (strcmp(words[i], "--") == 0)
      only_positional = true;
    else if (strcmp(words[i], "-h") == 0)
      p->common->help = true;
    else if (strncmp(words[i], "--", 2) == 0 || strcmp(words[i], "-o") == 0)
      MO_TRY(take_option(p, words + i, count - i, &used, error));
    else
      return mo_fail(error, MOUSSE_UNKNOWN_NAME,
                     "there is no option '%.80s'; options start with --", words[i]);
  }
  return p->common->help ? MOUSSE_OK : check_count(p, error);
}

/* Once more over what a file says: flags win. */
static mousse_status configure(parser *p, size_t count, char *const *words, mo_error *error)
{
  const cli_command *command = p->command;
  void *flags = mo_allocate(NULL, command->values_bytes);
  if (flags == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for the options");
  memcpy(flags, p->values, command->values_bytes);
  mousse_status status = set_defaults(command, p->values, error);
  if (status == MOUSSE_OK)
    status = command->configure(p->values, flags, p->common->quiet, error);
  if (status == MOUSSE_OK) status = apply(p, count, words, error);
  mo_release(NULL, flags, command->values_bytes);
  return status;
}

mousse_status arguments_parse(const cli_command *command, size_t count, char *const *words,
                              void *values, common_values *common, const char **arguments,
                              size_t *argument_count, mo_error *error)
{
  parser p = {.command = command, .values = values, .common = common, .arguments = arguments};
  MO_TRY(set_defaults(command, values, error));
  MO_TRY(mo_settings_defaults(&common_settings, common, error));
  MO_TRY(apply(&p, count, words, error));
  if (command->configure != NULL && !common->help) MO_TRY(configure(&p, count, words, error));
  for (size_t i = 0; i < p.note_count && !common->quiet; i++) terminal_note(p.notes[i]);
  *argument_count = p.argument_count;
  return MOUSSE_OK;
}
