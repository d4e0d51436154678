/* help.h - help texts and the manual page, made from the tables. */
#ifndef MOUSSE_CLI_HELP_H
#define MOUSSE_CLI_HELP_H

#include "cli/command.h"

void help_program(void);
void help_command(const cli_command *command);
/* Topics: name NULL lists all optimizers, else one with its options. */
mousse_status help_optimizers(const char *name, mo_error *error);
mousse_status help_presets(mo_error *error);
void help_paragraph(const char *text); /* in lines that fit */
/* A name, and beside it, from a column on, what it is. */
void help_item(const char *name, const char *text, int column);

/* The next part of a command's details: a paragraph of prose, whose line ends mean nothing, or
 * lines of examples, which begin with a space. false: none is left. */
enum { HELP_PART = 2048 };
bool help_part(const char **text, char *part, size_t capacity);

/* manual.c: the page mousse(1), in the language of man. */
void help_manual(void);

/* "--val-fraction NUMBER", "--[no-]shuffle": an option as it is typed. saved: the table's
 * options can come from a file, so that its switches need both forms. */
void help_option_form(const mo_setting *row, bool saved, char *text, size_t capacity);
/* " (default 0.01; a number from 0 to 0.5)", or nothing when there is nothing to add. */
void help_option_limits(const mo_setting *row, char *text, size_t capacity);
/* The same for an option of an optimizer. */
void help_optimizer_limits(const mousse_option *option, char *text, size_t capacity);

/* Where the words for a text option's value come from. */
typedef enum value_source {
  VALUE_FROM_NOTHING,
  VALUE_FROM_FILES,
  VALUE_FROM_OPTIMIZERS,
  VALUE_FROM_PRESETS
} value_source;
value_source help_value_source(const mo_setting *row);

/* Exit codes of the program; what ended by a signal has the shell's 128 and its number. */
#define EXIT_CODE_MAP(X)                                                                       \
  X(DONE, 0, "done")                                                                           \
  X(FAILED, 1, "failed while running: a file, the network, memory")                            \
  X(USAGE, 2, "the command line or a configuration is wrong")                                  \
  X(DAMAGED, 3, "an input file is damaged or not in the expected format")                      \
  X(HUNG_UP, 129, "stopped by SIGHUP, as when a terminal is closed; training has saved")       \
  X(INTERRUPTED, 130, "stopped by Ctrl-C (SIGINT); training has saved and can be continued")   \
  X(TERMINATED, 143, "stopped by SIGTERM; training has saved and can be continued")

enum {
#define EXIT_X(name, code, text) EXIT_##name = code,
  EXIT_CODE_MAP(EXIT_X)
#undef EXIT_X
};

typedef struct exit_meaning {
  int code;
  const char *text;
} exit_meaning;
const exit_meaning *help_exit_code(size_t index); /* NULL past the last */

#endif
