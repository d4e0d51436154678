/* help.h - help texts and the manual page, made from the tables. */
#ifndef MOUSSE_CLI_HELP_H
#define MOUSSE_CLI_HELP_H

#include "cli/command.h"

void help_program(void);
void help_command(const cli_command *command);
void help_manual(void); /* the page mousse(1), in the language of man */

/* Exit codes of the program. */
#define EXIT_CODE_MAP(X)                                                                       \
  X(DONE, 0, "done")                                                                           \
  X(FAILED, 1, "failed while running: a file, the network, memory")                            \
  X(USAGE, 2, "the command line or a configuration is wrong")                                  \
  X(DAMAGED, 3, "an input file is damaged or not in the expected format")

enum {
#define EXIT_X(name, code, text) EXIT_##name = code,
  EXIT_CODE_MAP(EXIT_X)
#undef EXIT_X
};

#endif
