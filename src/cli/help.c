/* help.c - help texts and the manual page, made from the tables. */
#include "cli/help.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct exit_code {
  int code;
  const char *text;
} exit_codes[] = {
#define EXIT_X(name, code, text) {code, text},
    EXIT_CODE_MAP(EXIT_X)
#undef EXIT_X
};

enum { EXIT_CODES = sizeof exit_codes / sizeof *exit_codes, HELP_COLUMN = 26 };

/* "--val-fraction NUMBER": an option as it is typed. */
static void option_form(const mo_setting *row, char *text, size_t capacity)
{
  static const char *const values[] = {" TEXT", " N", " NUMBER", "", " NAME"};
  snprintf(text, capacity, "--%s%s", row->name, values[row->type]);
  for (char *c = text; *c != '\0' && *c != ' '; c++)
    if (*c == '_') *c = '-';
}

/* "(default 0.01; a number from 0 to 0.5)", or nothing when there is nothing to say. */
static void option_limits(const mo_setting *row, char *text, size_t capacity)
{
  char allowed[256];
  mo_setting_allowed(row, allowed, sizeof allowed);
  text[0] = '\0';
  if (row->type == MO_TYPE_SWITCH) {
    if (strcmp(row->initial, "true") == 0) snprintf(text, capacity, " (default on)");
  } else if (row->type != MO_TYPE_TEXT) {
    snprintf(text, capacity, " (default %s; %s)", row->initial, allowed);
  } else if (row->initial[0] != '\0') {
    snprintf(text, capacity, " (default %s)", row->initial);
  }
}

/* Words of text in lines of at most 96 columns, continued at the help column. */
static void print_wrapped(const char *text, size_t column)
{
  const size_t indent = column;
  while (*text != '\0') {
    const size_t word = strcspn(text, " ");
    if (column > indent && column + 1 + word > 96) {
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

static void print_options(const mo_settings *table)
{
  for (size_t i = 0; i < table->count; i++) {
    char form[96], limits[320], text[640];
    option_form(&table->rows[i], form, sizeof form);
    option_limits(&table->rows[i], limits, sizeof limits);
    snprintf(text, sizeof text, "%s%s", table->rows[i].help, limits);
    if (strlen(form) + 3 > HELP_COLUMN)
      printf("  %s\n%*s", form, HELP_COLUMN, "");
    else
      printf("  %-*s", HELP_COLUMN - 2, form);
    print_wrapped(text, HELP_COLUMN);
  }
}

void help_program(void)
{
  printf("usage: mousse COMMAND [arguments] [options]\n\n"
         "Trains GPT models with the Mousse optimizer and others, and prepares their data.\n\n"
         "commands:\n");
  for (size_t i = 0; i < command_count(); i++)
    printf("  %-12s%s\n", command_at(i)->name, command_at(i)->summary);
  printf("\n'mousse COMMAND --help' explains one command.\n\nexit codes:\n");
  for (size_t i = 0; i < EXIT_CODES; i++)
    printf("  %d  %s\n", exit_codes[i].code, exit_codes[i].text);
}

void help_command(const cli_command *command)
{
  printf("usage: mousse %s%s%s [options]\n\n%s.\n\noptions:\n", command->name,
         command->arguments[0] != '\0' ? " " : "", command->arguments, command->summary);
  if (command->base != NULL) print_options(command->base);
  print_options(&command->settings);
  print_options(&common_settings);
  if (command->more_help != NULL) command->more_help();
  if (command->details[0] != '\0') printf("\n%s", command->details);
}

/* Text for man: backslashes and hyphens are escaped, a leading dot or quote is protected. */
static void print_roff(const char *text)
{
  bool line_start = true;
  for (const char *c = text; *c != '\0'; c++) {
    if (line_start && (*c == '.' || *c == '\'')) printf("\\&");
    if (*c == '\\')
      printf("\\e");
    else if (*c == '-')
      printf("\\-");
    else
      putchar(*c);
    line_start = *c == '\n';
  }
}

static void manual_options(const mo_settings *table)
{
  for (size_t i = 0; i < table->count; i++) {
    char form[96], limits[320];
    option_form(&table->rows[i], form, sizeof form);
    option_limits(&table->rows[i], limits, sizeof limits);
    printf(".TP\n.B ");
    print_roff(form);
    printf("\n");
    print_roff(table->rows[i].help);
    print_roff(limits);
    printf("\n");
  }
}

void help_manual(void)
{
  printf(".TH MOUSSE 1 \"\" \"mousse " MOUSSE_VERSION_TEXT "\" \"User Commands\"\n"
         ".SH NAME\nmousse \\- train GPT models and prepare their data\n"
         ".SH SYNOPSIS\n.B mousse\n.I COMMAND\n[arguments] [options]\n.SH COMMANDS\n");
  for (size_t i = 0; i < command_count(); i++) {
    const cli_command *command = command_at(i);
    printf(".SS \"mousse %s %s\"\n", command->name, command->arguments);
    print_roff(command->summary);
    printf(".\n");
    if (command->base != NULL) manual_options(command->base);
    manual_options(&command->settings);
    if (command->details[0] == '\0') continue;
    printf(".PP\n.nf\n");
    print_roff(command->details);
    printf(".fi\n");
  }
  printf(".SH COMMON OPTIONS\n");
  manual_options(&common_settings);
  printf(".SH EXIT STATUS\n");
  for (size_t i = 0; i < EXIT_CODES; i++)
    printf(".TP\n.B %d\n%s\n", exit_codes[i].code, exit_codes[i].text);
}
