/* help.c - help texts, made from the tables. */
#include "cli/help.h"

#include "base/text.h"
#include "base/wording.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "gpt/gpt.h"
#include "train/options.h"

#include <stdio.h>
#include <string.h>

enum { HELP_COLUMN = 26, SUMMARY_COLUMN = 14, EXIT_COLUMN = 7 };
enum { USUAL_HELP = 80, WIDEST_HELP = 96, NARROWEST_HELP = 50 };

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
static void limits_text(double min, double max, char *text, size_t capacity)
{
  char low[32], high[32];
  text[0] = '\0';
  if (max >= 65536 && min <= 1) return;
  snprintf(text, capacity, "; %s to %s", mo_limit_text(min, low, sizeof low),
           mo_limit_text(max, high, sizeof high));
}

void help_option_limits(const mo_setting *row, char *text, size_t capacity)
{
  char allowed[256] = "", more[264] = "";
  if (row->type == MO_TYPE_CHOICE) {
    mo_setting_allowed(row, allowed, sizeof allowed);
    snprintf(more, sizeof more, "; %s", allowed);
  } else if (row->type == MO_TYPE_INTEGER || row->type == MO_TYPE_NUMBER) {
    limits_text(row->min, row->max, more, sizeof more);
  }
  text[0] = '\0';
  if (row->type == MO_TYPE_SWITCH)
    snprintf(text, capacity, "%s", strcmp(row->initial, "true") == 0 ? " (default on)" : "");
  else if (row->initial[0] != '\0')
    snprintf(text, capacity, " (default %s%s)", row->initial, more);
}

void help_optimizer_limits(const mousse_option *option, char *text, size_t capacity)
{
  char names[256] = "", range[80];
  if (option->choices == NULL) {
    limits_text(option->min, option->max, range, sizeof range);
    snprintf(text, capacity, " (default %g%s)", option->initial, range);
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

/* What is not a terminal is probably shown on one of the usual width. */
static size_t help_width(void)
{
  const size_t columns = terminal_columns(stdout);
  if (!terminal_is(stdout)) return USUAL_HELP;
  if (columns > WIDEST_HELP) return WIDEST_HELP;
  return columns > NARROWEST_HELP ? columns - 1 : NARROWEST_HELP;
}

void help_paragraph(const char *text)
{
  terminal_wrap(stdout, text, 0, help_width());
}

bool help_part(const char **text, char *part, size_t capacity)
{
  const char *start = *text + strspn(*text, "\n");
  const char *end = strstr(start, "\n\n");
  const size_t length = end != NULL ? (size_t)(end - start) : strlen(start);
  snprintf(part, capacity, "%.*s", (int)length, start);
  *text = start + length;
  return length > 0;
}

/* Prose is wrapped, examples stay as they are. */
static void print_details(const char *details)
{
  char part[HELP_PART];
  while (help_part(&details, part, sizeof part)) {
    printf("\n");
    if (part[0] != ' ')
      help_paragraph(part);
    else
      printf("%s%s", part, part[strlen(part) - 1] == '\n' ? "" : "\n");
  }
}

void help_item(const char *name, const char *text, int column)
{
  if ((int)strlen(name) + 3 > column)
    printf("  %s\n%*s", name, column, "");
  else
    printf("  %-*s", column - 2, name);
  terminal_wrap(stdout, text, (size_t)column, help_width());
}

static void print_entry(const char *form, const char *help, const char *limits)
{
  char text[640];
  snprintf(text, sizeof text, "%s%s", help, limits);
  help_item(form, text, HELP_COLUMN);
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
  printf("usage: mousse COMMAND [arguments] [options]\n");
  print_details("Trains GPT models with the Mousse optimizer and others, and prepares their "
                "data.");
  print_heading("Commands");
  for (size_t i = 0; i < command_count(); i++)
    help_item(command_at(i)->name, command_at(i)->summary, SUMMARY_COLUMN);
  print_heading("First steps");
  printf("  mousse tokenize book.txt --tokenizer train:1024 --out data/book\n"
         "  mousse train --data-dir data/book --preset nano --out runs/book\n"
         "  mousse generate --init runs/book\n");
  print_details("'mousse COMMAND --help' explains one command; 'mousse help optimizers' and "
                "'mousse help presets' list the values of --optimizer and --preset.");
  print_heading("Exit codes");
  for (size_t i = 0; help_exit_code(i) != NULL; i++) {
    char code[16];
    snprintf(code, sizeof code, "%3d", help_exit_code(i)->code);
    help_item(code, help_exit_code(i)->text, EXIT_COLUMN);
  }
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
    print_details("Model, data, schedule and optimizer are described by the options of 'mousse "
                  "train'.");
  if (command->more_help != NULL) command->more_help();
  print_details(command->details);
}

static void print_optimizer(const char *name)
{
  const mousse_option *option = NULL;
  char head[256];
  snprintf(head, sizeof head, "%s: %s", name, mousse_algorithm_help(name));
  help_paragraph(head);
  printf("\n");
  for (size_t i = 0; (option = mousse_algorithm_option(name, i)) != NULL; i++) {
    char limits[320];
    help_optimizer_limits(option, limits, sizeof limits);
    print_entry(option->name, option->help, limits);
  }
  print_details(
      "As --opt.NAME VALUE for the optimizer of the hidden matrices (--optimizer), "
      "as --scalar.NAME VALUE for that of embedding and head (--scalar-opt). These are "
      "the library's defaults; 'mousse train' sets some of its own (--recipe).");
}

mousse_status help_optimizers(const char *name, mo_error *error)
{
  char names[1024] = "";
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

mousse_status help_presets(mo_error *error)
{
  static const table_column columns[] = {{.title = "preset", .is_text = true},
                                         {.title = "parameters"},
                                         {.title = "width"},
                                         {.title = "layers"},
                                         {.title = "heads"},
                                         {.title = "context"},
                                         {.title = "vocabulary", .spare = 1}};
  cli_table table = {.columns = columns, .column_count = 7};
  const char *name = NULL;
  gpt_config c;
  for (size_t i = 0; (name = gpt_preset_name(i)) != NULL; i++) {
    if (gpt_preset(name, &c, NULL) != MOUSSE_OK) continue;
    table_cell(&table, "%s", name);
    table_cell(&table, "%.1f M", (double)gpt_parameter_count(&c) / 1e6);
    const size_t numbers[] = {c.n_embd, c.n_layer, c.n_head, c.sequence_len, c.vocab_size};
    for (size_t k = 0; k < 5; k++) table_cell(&table, "%s", MO_NUMBER(numbers[k]));
  }
  MO_TRY(table_print(&table, error));
  print_details(
      "Each value can also be set on its own: --model-dim, --n-layer, --n-head, "
      "--sequence-length, --vocab-size. Unless set, the vocabulary is that of the data.");
  return MOUSSE_OK;
}
