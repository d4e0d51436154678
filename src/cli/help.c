/* help.c - help texts, made from the tables. */
#include "cli/help.h"

#include "base/text.h"
#include "base/wording.h"
#include "cli/terminal.h"
#include "gpt/gpt.h"
#include "train/options.h"

#include <stdio.h>
#include <string.h>

enum { HELP_COLUMN = 26, WIDEST_HELP = 96, NARROWEST_HELP = 50 };

const exit_meaning *help_exit_code(size_t index)
{
  static const exit_meaning codes[] = {
#define EXIT_X(name, code, text) {code, text},
      EXIT_CODE_MAP(EXIT_X)
#undef EXIT_X
  };
  return index < sizeof codes / sizeof *codes ? &codes[index] : NULL;
}

static const struct {
  const char *option, *shown;
  value_source source;
} value_kinds[] = {
#define VALUE(option, shown, source) {#option, shown, VALUE_FROM_##source},
#include "cli/value_kinds.def"
#undef VALUE
};

/* NULL for what the table does not have. */
static const char *value_shown(const mo_setting *row)
{
  for (size_t i = 0; i < sizeof value_kinds / sizeof *value_kinds; i++)
    if (strcmp(value_kinds[i].option, row->name) == 0) return value_kinds[i].shown;
  return NULL;
}

value_source help_value_source(const mo_setting *row)
{
  for (size_t i = 0; row->type == MO_TYPE_TEXT && i < sizeof value_kinds / sizeof *value_kinds;
       i++)
    if (strcmp(value_kinds[i].option, row->name) == 0) return value_kinds[i].source;
  return VALUE_FROM_NOTHING;
}

void help_option_form(const mo_setting *row, bool saved, char *text, size_t capacity)
{
  static const char *const values[] = {"TEXT", "N", "NUMBER", "", "NAME"};
  const bool is_switch = row->type == MO_TYPE_SWITCH;
  const bool both = is_switch && (saved || strcmp(row->initial, "true") == 0);
  const char *shown = row->type == MO_TYPE_TEXT ? value_shown(row) : NULL;
  snprintf(text, capacity, "--%s%s%s%s", both ? "[no-]" : "", row->name, is_switch ? "" : " ",
           shown != NULL ? shown : values[row->type]);
  for (char *c = text; *c != '\0' && *c != ' '; c++)
    if (*c == '_') *c = '-';
}

/* "; 0 to 0.5"; limits that nobody meets are not worth a word. */
static void range_text(const mo_setting *row, char *text, size_t capacity)
{
  char low[32], high[32];
  text[0] = '\0';
  if (row->max >= 65536 && row->min <= 1) return;
  snprintf(text, capacity, "; %s to %s", mo_limit_text(row->min, low, sizeof low),
           mo_limit_text(row->max, high, sizeof high));
}

void help_option_limits(const mo_setting *row, char *text, size_t capacity)
{
  char allowed[256] = "", more[264] = "";
  if (row->type == MO_TYPE_CHOICE) {
    mo_setting_allowed(row, allowed, sizeof allowed);
    snprintf(more, sizeof more, "; %s", allowed);
  } else if (row->type == MO_TYPE_INTEGER || row->type == MO_TYPE_NUMBER) {
    range_text(row, more, sizeof more);
  }
  text[0] = '\0';
  if (row->type == MO_TYPE_SWITCH)
    snprintf(text, capacity, "%s", strcmp(row->initial, "true") == 0 ? " (default on)" : "");
  else if (row->initial[0] != '\0')
    snprintf(text, capacity, " (default %s%s)", row->initial, more);
}

void help_optimizer_limits(const mousse_option *option, char *text, size_t capacity)
{
  char names[256] = "";
  if (option->choices == NULL) {
    snprintf(text, capacity, " (default %g; %g to %g)", option->initial, option->min,
             option->max);
    return;
  }
  for (size_t i = 0; option->choices[i] != NULL; i++)
    mo_list_add(names, sizeof names, option->choices[i]);
  snprintf(text, capacity, " (default %s; one of %s)", option->choices[(int)option->initial],
           names);
}

static void print_heading(const char *text)
{
  printf("\n%s%s:%s\n", terminal_code(stdout, STYLE_BOLD), text,
         terminal_code(stdout, STYLE_NONE));
}

/* Words in lines that fit the terminal, continued at the help column. */
static void print_wrapped(const char *text, size_t column)
{
  const size_t indent = column;
  size_t width = terminal_is(stdout) ? terminal_columns(stdout) - 1 : WIDEST_HELP;
  if (width > WIDEST_HELP) width = WIDEST_HELP;
  if (width < NARROWEST_HELP) width = NARROWEST_HELP;
  while (*text != '\0') {
    const size_t word = strcspn(text, " ");
    if (column > indent && column + 1 + word > width) {
      printf("\n%*s", (int)indent, "");
      column = indent;
    }
    if (column > indent) column += (size_t)printf(" ");
    column += (size_t)printf("%.*s", (int)word, text);
    text += word;
    text += strspn(text, " ");
  }
  printf("\n");
}

void help_paragraph(const char *text)
{
  print_wrapped(text, 0);
}

static void print_entry(const char *form, const char *help, const char *limits)
{
  char text[640];
  snprintf(text, sizeof text, "%s%s", help, limits);
  if (strlen(form) + 3 > HELP_COLUMN)
    printf("  %s\n%*s", form, HELP_COLUMN, "");
  else
    printf("  %-*s", HELP_COLUMN - 2, form);
  print_wrapped(text, HELP_COLUMN);
}

static const char *section_at(const mo_settings *table, const char *row)
{
  for (const mo_section *s = table->sections; s != NULL && s->title != NULL; s++)
    if (strcmp(s->first, row) == 0) return s->title;
  return NULL;
}

static void print_options(const mo_settings *table, bool saved)
{
  for (size_t i = 0; i < table->count; i++) {
    char form[96], limits[320];
    const char *section = section_at(table, table->rows[i].name);
    if (section != NULL) print_heading(section);
    help_option_form(&table->rows[i], saved, form, sizeof form);
    help_option_limits(&table->rows[i], limits, sizeof limits);
    print_entry(form, table->rows[i].help, limits);
  }
}

void help_program(void)
{
  printf("usage: mousse COMMAND [arguments] [options]\n\n"
         "Trains GPT models with the Mousse optimizer and others, and prepares their data.\n");
  print_heading("Commands");
  for (size_t i = 0; i < command_count(); i++)
    printf("  %-12s%s\n", command_at(i)->name, command_at(i)->summary);
  print_heading("First steps");
  printf(
      "  mousse tokenize book.txt --tokenizer train:1024 --out data/book\n"
      "  mousse train --data-dir data/book --preset nano --num-iterations 300 --out runs/book\n"
      "  mousse generate --init runs/book\n");
  printf("\n'mousse COMMAND --help' explains one command; 'mousse help optimizers' and\n"
         "'mousse help presets' list what --optimizer and --preset may be.\n");
  print_heading("Exit codes");
  for (size_t i = 0; help_exit_code(i) != NULL; i++)
    printf("  %3d  %s\n", help_exit_code(i)->code, help_exit_code(i)->text);
}

/* What a command shares with 'mousse train' is explained there. */
static bool explains_base(const cli_command *command)
{
  if (command->base != &train_settings) return command->base != NULL;
  return strcmp(command->name, "train") == 0;
}

void help_command(const cli_command *command)
{
  printf("usage: mousse %s%s%s [options]\n\n%s.\n", command->name,
         command->arguments[0] != '\0' ? " " : "", command->arguments, command->summary);
  if (command->base == &train_settings && explains_base(command))
    print_options(command->base, true);
  print_heading("Options");
  if (command->base != &train_settings && explains_base(command))
    print_options(command->base, false);
  print_options(&command->settings, false);
  print_options(&common_settings, false);
  if (command->base != NULL && !explains_base(command))
    printf("\nModel, data, schedule and optimizer are described by the options of 'mousse "
           "train'.\n");
  if (command->more_help != NULL) command->more_help();
  if (command->details[0] != '\0') printf("\n%s", command->details);
}

static void print_optimizer(const char *name)
{
  const mousse_option *option = NULL;
  printf("%s: %s\n\n", name, mousse_algorithm_help(name));
  for (size_t i = 0; (option = mousse_algorithm_option(name, i)) != NULL; i++) {
    char limits[320];
    help_optimizer_limits(option, limits, sizeof limits);
    print_entry(option->name, option->help, limits);
  }
  printf("\nAs --opt.NAME VALUE for the optimizer of the hidden matrices (--optimizer), as\n"
         "--scalar.NAME VALUE for that of embedding and head (--scalar-opt). These are the\n"
         "library's defaults; 'mousse train' sets some of its own (--recipe).\n");
}

mousse_status help_optimizers(const char *name, mo_error *error)
{
  char names[256] = "";
  const char *known = NULL;
  for (size_t i = 0; (known = mousse_algorithm_name(i)) != NULL; i++) {
    mo_list_add(names, sizeof names, known);
    if (name == NULL) print_entry(known, mousse_algorithm_help(known), "");
    if (name == NULL || strcmp(name, known) != 0) continue;
    print_optimizer(name);
    return MOUSSE_OK;
  }
  if (name != NULL)
    return mo_fail(error, MOUSSE_UNKNOWN_NAME, "there is no optimizer '%.80s'; choose from %s",
                   name, names);
  printf("\n'mousse help optimizers NAME' lists the options of one.\n");
  return MOUSSE_OK;
}

void help_presets(void)
{
  const char *name = NULL;
  gpt_config c;
  printf("  %-16s %12s %8s %7s %7s %9s %11s\n", "preset", "parameters", "width", "layers",
         "heads", "context", "vocabulary");
  for (size_t i = 0; (name = gpt_preset_name(i)) != NULL; i++) {
    if (gpt_preset(name, &c, NULL) != MOUSSE_OK) continue;
    printf("  %-16s %10.1f M %8zu %7zu %7zu %9zu %11zu\n", name,
           (double)gpt_parameter_count(&c) / 1e6, c.n_embd, c.n_layer, c.n_head, c.sequence_len,
           c.vocab_size);
  }
  printf("\nAny of them can be set by itself: --model-dim, --n-layer, --n-head,\n"
         "--sequence-length, --vocab-size. The vocabulary is otherwise that of the data.\n");
}
