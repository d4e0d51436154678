/* next_step.h - what one would do after a command: lines at its end that can be copied.
 *
 *     next_step(call, "generate --init %s", run);
 *
 * Printed to standard error, and only where a person reads it: not with --quiet. Paths are put
 * in quotes where a shell needs them; the program is named as it was started. */
#ifndef MOUSSE_CLI_NEXT_STEP_H
#define MOUSSE_CLI_NEXT_STEP_H

#include "cli/command.h"

void next_step_program(const char *path); /* argv[0]; borrowed */
/* format: the command line after the program's name; every argument is text, and quoted. */
void next_step(const cli_invocation *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
