/* completion.c - the words that may follow on a command line. */
#include "cli/completion.h"

#include "cli/arguments.h"
#include "cli/help.h"
#include "data/shards/download.h"
#include "gpt/gpt.h"
#include "paper/figures.h"
#include "train/options.h"

#include <stdio.h>
#include <string.h>

/* What is being completed: the start of every word offered. */
typedef struct request {
  const char *const *words;
  size_t count; /* at least 1; the last word is the one to complete */
  const cli_command *command;
  const char *begun;  /* the last word, or its part after a comma */
  const char *before; /* what stands before that part, to be repeated */
  size_t before_length;
} request;

static void offer(const request *r, const char *word, const char *meaning)
{
  if (strncmp(word, r->begun, strlen(r->begun)) == 0)
    printf("%.*s%s\t%s\n", (int)r->before_length, r->before, word, meaning);
}

static void offer_option(const request *r, const char *prefix, const char *name,
                         const char *meaning)
{
  char word[96];
  snprintf(word, sizeof word, "--%s%s", prefix, name);
  for (char *c = word; *c != '\0'; c++)
    if (*c == '_' && prefix[0] != 'o' && prefix[0] != 's') *c = '-';
  offer(r, word, meaning);
}

static void offer_table(const request *r, const mo_settings *table, bool saved)
{
  for (size_t i = 0; table != NULL && i < table->count; i++) {
    const mo_setting *row = &table->rows[i];
    const bool on = row->type == MO_TYPE_SWITCH && strcmp(row->initial, "true") == 0;
    if (!on) offer_option(r, "", row->name, row->help);
    if (on || (saved && row->type == MO_TYPE_SWITCH))
      offer_option(r, "no-", row->name, row->help);
  }
}

/* The value given for an option earlier on the line, or its default. */
static const char *given(const request *r, const char *option, const char *otherwise)
{
  const char *value = otherwise;
  for (size_t i = 1; i + 1 < r->count; i++)
    if (strncmp(r->words[i], "--", 2) == 0 && mo_same_name(r->words[i] + 2, option))
      value = r->words[i + 1];
  return value;
}

static const char *optimizer_of(const request *r, bool scalar)
{
  const char *option = scalar ? "scalar_opt" : "optimizer";
  const char *name = given(r, option, mo_settings_find(&train_settings, option)->initial);
  return strcmp(name, "auto") == 0 ? "normuon" : name; /* as it is for small models */
}

static void offer_optimizer_options(const request *r, bool scalar)
{
  const mousse_option *option = NULL;
  const char *name = optimizer_of(r, scalar);
  for (size_t i = 0; (option = mousse_algorithm_option(name, i)) != NULL; i++)
    offer_option(r, scalar ? "scalar." : "opt.", option->name, option->help);
}

static bool has_run_options(const cli_command *command)
{
  return command->take != NULL;
}

static void offer_options(const request *r)
{
  const cli_command *command = r->command;
  offer_table(r, command->base, has_run_options(command));
  offer_table(r, command->taken, true);
  offer_table(r, &command->settings, false);
  offer_table(r, &common_settings, false);
  if (!has_run_options(command)) return;
  offer_optimizer_options(r, false);
  offer_optimizer_options(r, true);
}

static void offer_optimizers(const request *r)
{
  const char *name = NULL;
  for (size_t i = 0; (name = mousse_algorithm_name(i)) != NULL; i++)
    offer(r, name, mousse_algorithm_help(name));
}

static void offer_presets(const request *r)
{
  const char *name = NULL;
  for (size_t i = 0; (name = gpt_preset_name(i)) != NULL; i++) {
    char meaning[64] = "";
    gpt_config config;
    if (gpt_preset(name, &config, NULL) == MOUSSE_OK)
      snprintf(meaning, sizeof meaning, "%.1f M parameters",
               (double)gpt_parameter_count(&config) / 1e6);
    offer(r, name, meaning);
  }
}

static void offer_choices(const request *r, const char *const *choices)
{
  for (size_t i = 0; choices != NULL && choices[i] != NULL; i++) offer(r, choices[i], "");
}

/* opt.NAME and scalar.NAME. */
static bool offer_optimizer_value(const request *r, const char *option)
{
  const mousse_option *known = NULL;
  const bool scalar = strncmp(option, "scalar.", 7) == 0;
  if (!scalar && strncmp(option, "opt.", 4) != 0) return false;
  const char *name = option + (scalar ? 7 : 4);
  for (size_t i = 0; (known = mousse_algorithm_option(optimizer_of(r, scalar), i)) != NULL; i++)
    if (strcmp(known->name, name) == 0) offer_choices(r, known->choices);
  return true;
}

/* The value of an option; false: it takes none, and the word is something else. */
static bool offer_value(request *r, const char *option)
{
  const mo_setting *row = arguments_find(r->command, option);
  if (row == NULL && r->command->taken != NULL)
    row = mo_settings_find(r->command->taken, option);
  if (row == NULL) return offer_optimizer_value(r, option);
  if (row->type == MO_TYPE_SWITCH) return false;
  const char *comma = r->command->taken != NULL ? strrchr(r->begun, ',') : NULL;
  if (comma != NULL) { /* one more value of a sweep */
    r->before = r->begun;
    r->before_length = (size_t)(comma + 1 - r->begun);
    r->begun = comma + 1;
  }
  const value_source source = help_value_source(row);
  if (row->type == MO_TYPE_CHOICE) offer_choices(r, row->choices);
  if (source == VALUE_FROM_OPTIMIZERS) offer_optimizers(r);
  if (source == VALUE_FROM_PRESETS) offer_presets(r);
  if (source == VALUE_FROM_FILES) printf(":files\n");
  return true;
}

static void offer_commands(const request *r)
{
  for (size_t i = 0; i < command_count(); i++)
    offer(r, command_at(i)->name, command_at(i)->summary);
}

/* "list|verify|export RUN": the words before the first space. */
static void offer_written(const request *r)
{
  const char *at = r->command->arguments;
  const size_t end = strcspn(at, " ");
  for (size_t used = 0; used < end;) {
    char word[32] = "";
    const size_t length = strcspn(at + used, "| ");
    if (length < sizeof word) memcpy(word, at + used, length);
    offer(r, word, "");
    used += length + 1;
  }
}

static void offer_figures(const request *r)
{
  for (size_t i = 0; i < FIGURE_COUNT; i++) offer(r, figure_rows[i].id, figure_rows[i].title);
}

static void offer_sets(const request *r)
{
  for (unsigned i = 0; published_set_at(i) != NULL; i++)
    offer(r, published_set_at(i)->name, published_set_at(i)->description);
}

static void offer_topics(const request *r)
{
  offer_commands(r);
  offer(r, "optimizers", "algorithms and their options");
  offer(r, "presets", "model sizes");
}

static void offer_arguments(const request *r)
{
  const char *name = r->command->name;
  const bool first = r->count == 2;
  if (strcmp(name, "help") == 0 && first)
    offer_topics(r);
  else if (strcmp(name, "help") == 0)
    offer_optimizers(r);
  else if (strcmp(name, "reproduce") == 0)
    offer_figures(r);
  else if (strcmp(name, "download") == 0)
    offer_sets(r);
  else if (first && strchr(r->command->arguments, '|') != NULL &&
           r->command->arguments[0] >= 'a' && r->command->arguments[0] <= 'z')
    offer_written(r);
  else if (r->command->most_arguments > 0)
    printf(":files\n");
}

/* The option whose value is completed, or ""; bash gives '--name=value' as three words. */
static const char *option_before(const request *r)
{
  const size_t last = r->count - 1;
  const bool equals = strcmp(r->words[last], "=") == 0;
  if (!equals && last > 2 && strcmp(r->words[last - 1], "=") == 0) return r->words[last - 2];
  return last > 1 ? r->words[last - 1] : "";
}

void completion_print(const char *const *words, size_t count)
{
  request r = {.words = words, .count = count, .begun = "", .before = ""};
  if (count == 0) return;
  if (strcmp(words[count - 1], "=") != 0) r.begun = words[count - 1];
  r.command = count > 1 ? command_find(words[0]) : NULL;
  const char *option = option_before(&r);
  if (count == 1)
    offer_commands(&r);
  else if (r.command == NULL)
    return;
  else if (strncmp(option, "--", 2) == 0 && offer_value(&r, option + 2))
    return;
  else if (strcmp(option, "-o") == 0)
    printf(":files\n");
  else if (r.begun[0] == '-')
    offer_options(&r);
  else
    offer_arguments(&r);
}
